use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{NotificationContext, RequestContext, SubscriptionContext},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::json;
use tokio::sync::broadcast;

use crate::{WATCHED, tools};

type Context = RequestContext<RoleServer>;
type Result<T> = std::result::Result<T, ErrorData>;

#[derive(Clone, Copy)]
pub enum Told {
    ToolsChanged,
    Touched,
}

/// What all sessions and requests of one way of serving share.
pub struct World {
    /// How each call of the tool slow stands: running, cancelled or finished.
    pub slow: Mutex<HashMap<String, &'static str>>,
    pub late: Mutex<BTreeSet<String>>,
    told: broadcast::Sender<Told>,
}

impl World {
    fn new() -> Self {
        Self { slow: Mutex::default(), late: Mutex::default(), told: broadcast::Sender::new(64) }
    }

    /// Tells all that listen. Nobody may.
    pub fn tell(&self, what: Told) {
        let _ = self.told.send(what);
    }
}

/// One session, or one request where there are none.
pub struct Handler {
    pub world: Arc<World>,
    /// What the tool remember keeps for a session.
    pub remembered: Mutex<Option<String>>,
    is_watching: Arc<Mutex<bool>>,
}

impl Handler {
    /// Whether the client wants log messages: those of 2026-07-28 say so with each request.
    pub fn logs(&self, context: &Context) -> bool {
        let is_legacy = context.protocol_version().is_none_or(|revision| revision.has_initialize());
        is_legacy || context.meta.log_level().is_some()
    }
}

fn tool(name: &str) -> Tool {
    let schema = JsonObject::from_iter([("type".to_owned(), json!("object"))]);
    let tool = Tool::new_with_raw(name.to_owned(), None, schema.clone());
    if name == "structured" { tool.with_raw_output_schema(Arc::new(schema)) } else { tool }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_logging();
        ServerConfig::new(capabilities.build()).with_server_info(Implementation::new("rust", "1"))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut told = self.world.told.subscribe();
        let (peer, is_watching) = (context.peer, self.is_watching.clone());
        tokio::spawn(async move {
            while let Ok(what) = told.recv().await {
                let sent = match what {
                    Told::ToolsChanged => peer.notify_tool_list_changed().await,
                    Told::Touched if *is_watching.lock().unwrap() => {
                        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(WATCHED)).await
                    }
                    Told::Touched => Ok(()),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListToolsResult> {
        let late = self.world.late.lock().unwrap().clone();
        let names = tools::NAMES.into_iter().chain(late.iter().map(String::as_str));
        Ok(ListToolsResult::with_all_items(names.map(tool).collect()))
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: Context) -> Result<CallToolResponse> {
        tools::call(self, params, context).await
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<()> {
        Ok(())
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListResourcesResult> {
        let resources = vec![Resource::new("test://static", "static"), Resource::new(WATCHED, "watched")];
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![ResourceTemplate::new("test://item/{number}", "item")]))
    }

    async fn read_resource(&self, params: ReadResourceRequestParams, _: Context) -> Result<ReadResourceResponse> {
        let said = match params.uri.as_str() {
            "test://static" => "static text".to_owned(),
            WATCHED => "watched text".to_owned(),
            uri => match uri.strip_prefix("test://item/") {
                Some(number) => format!("item {number}"),
                None => return Err(ErrorData::resource_not_found("no such resource", Some(json!({ "uri": uri })))),
            },
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(said, params.uri)]).into())
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: Context) -> Result<ListPromptsResult> {
        let who = PromptArgument::new("who").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::from_raw("hello", None::<String>, Some(vec![who]))]))
    }

    async fn get_prompt(&self, params: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse> {
        let who = json!(params.arguments)["who"].as_str().unwrap_or_default().to_owned();
        let said = PromptMessage::new_text(Role::User, format!("Say hello to {who}."));
        Ok(GetPromptResult::new(vec![said]).into())
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult> {
        let info = CompletionInfo::new(vec!["Ada".to_owned()]);
        info.map(CompleteResult::new).map_err(|why| ErrorData::internal_error(why, None))
    }

    async fn subscribe(&self, params: SubscribeRequestParams, _: Context) -> Result<()> {
        *self.is_watching.lock().unwrap() = params.uri == WATCHED;
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<()> {
        *self.is_watching.lock().unwrap() = false;
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<()> {
        let mut told = self.world.told.subscribe();
        loop {
            let what = tokio::select! {
                () = context.cancelled() => return Ok(()),
                what = told.recv() => what.map_err(|lost| ErrorData::internal_error(lost.to_string(), None))?,
            };
            // What this stream has not asked for is refused by the SDK.
            let _ = match what {
                Told::ToolsChanged => context.sink().notify_tool_list_changed().await,
                Told::Touched => context.sink().notify_resource_updated(WATCHED).await,
            };
        }
    }
}

/// Serves on a port of its own, and returns the URL.
async fn serve_way(config: StreamableHttpServerConfig) -> std::io::Result<String> {
    let world = Arc::new(World::new());
    let factory =
        move || Ok(Handler { world: world.clone(), remembered: Mutex::default(), is_watching: Arc::default() });
    let service = StreamableHttpService::new(factory, Arc::new(LocalSessionManager::default()), config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Ok(url)
}

/// Serves each way, prints the URLs, and ends with standard input. rmcp answers in JSON only where it keeps no sessions.
pub async fn serve() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let config = StreamableHttpServerConfig::default().with_json_response(false);
    let without_sessions = config.clone().with_legacy_session_mode(false);
    let urls = json!({
        "json answers": serve_way(without_sessions.clone().with_json_response(true)).await?,
        "stateless": serve_way(without_sessions).await?,
        "sse answers": serve_way(config.with_legacy_session_mode(true)).await?,
    });
    println!("{urls}");
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    Ok(())
}
