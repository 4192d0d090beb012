use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, ServiceError,
    model::*,
    service::{NotificationContext, RequestContext, RunningService},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::capabilities::{self, NAMES};

pub const CALL_TIME: Duration = Duration::from_secs(20);
pub type Answer = Result<Value, ServiceError>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Order {
    url: String,
    era: String,
    only: Vec<String>,
    patience_s: f64,
}

#[derive(Clone, PartialEq)]
pub enum Heard {
    Message(Value),
    Tools,
    Updated(String),
}

/// What answers the server's questions, and keeps what it tells.
#[derive(Clone, Default)]
pub struct Handler {
    heard: Arc<Mutex<Vec<Heard>>>,
    is_legacy: bool,
}

impl Handler {
    pub fn new(is_legacy: bool) -> Self {
        Handler { is_legacy, ..Handler::default() }
    }

    fn hear(&self, what: Heard) {
        self.heard.lock().unwrap().push(what);
    }
}

fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the SDK reads what the specification allows")
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = made(json!({ "sampling": {}, "elicitation": {}, "roots": {} }));
        let info = ClientConfig::new(capabilities, Implementation::new("rust", "1"));
        if self.is_legacy { info.with_protocol_version(ProtocolVersion::V_2025_11_25) } else { info }
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("sampled"), "none".into()))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "colour": "red" })))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///home/ada").with_name("home")]))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Tools);
    }

    async fn on_resource_updated(&self, update: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Updated(update.uri));
    }

    async fn on_logging_message(&self, log: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Message(json!([log.level, log.data])));
    }

    async fn on_progress(&self, step: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Message(json!([step.progress, step.total, step.message])));
    }
}

/// One connection, and what it has heard.
pub struct Peer {
    pub session: RunningService<RoleClient, Handler>,
    pub patience: Duration,
}

impl Peer {
    pub fn so_far(&self) -> Vec<Heard> {
        self.session.service().heard.lock().unwrap().clone()
    }

    pub fn revision(&self) -> String {
        self.session.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    pub fn is_modern(&self) -> bool {
        self.revision().as_str() >= "2026"
    }

    pub async fn call_for(&self, time: Duration, name: &str, arguments: Value) -> Answer {
        let mut params = CallToolRequestParams::new(name.to_owned()).with_arguments(made(arguments));
        if self.is_modern() {
            let mut meta = RequestMetaObject::new();
            meta.set_log_level(LoggingLevel::Debug);
            params.meta = Some(meta);
        }
        let answer = tokio::time::timeout(time, self.session.call_tool(params)).await;
        plain(answer.map_err(|_| ServiceError::Timeout { timeout: time })?)
    }

    pub async fn call(&self, name: &str, arguments: Value) -> Answer {
        self.call_for(CALL_TIME, name, arguments).await
    }
}

pub async fn until(patience: Duration, mut is_so: impl AsyncFnMut() -> bool) -> bool {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if is_so().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// A result without what names its server, its revision and how long it may be kept.
pub fn plain(result: Result<impl Serialize, ServiceError>) -> Answer {
    let mut seen = json!(result?);
    if let Some(members) = seen.as_object_mut() {
        members.retain(|name, _| !["_meta", "resultType", "ttlMs", "cacheScope"].contains(&name.as_str()));
    }
    Ok(seen)
}

pub fn outcome(answer: Answer) -> Value {
    match answer {
        Ok(seen) => json!({ "ok": seen }),
        Err(ServiceError::McpError(refused)) => json!({ "error": refused }),
        Err(error) => json!({ "failed": error.to_string() }),
    }
}

pub fn lifecycle(is_legacy: bool) -> ClientLifecycleMode {
    if is_legacy {
        return ClientLifecycleMode::Initialize;
    }
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

async fn connect(order: &Order) -> Result<Peer, Value> {
    let config = StreamableHttpClientTransportConfig::with_uri(order.url.clone());
    let is_legacy = order.era == "legacy";
    let transport = StreamableHttpClientTransport::from_config(config);
    let session = Handler::new(is_legacy).serve_with_lifecycle(transport, lifecycle(is_legacy)).await;
    let patience = Duration::from_secs_f64(order.patience_s);
    session.map(|session| Peer { session, patience }).map_err(|error| json!({ "failed": error.to_string() }))
}

async fn run(order: &Order) -> Value {
    let peer = match connect(order).await {
        Ok(peer) => peer,
        Err(why) => return json!({ "connect": why }),
    };
    let mut seen = json!({ "revision": peer.revision() });
    for name in NAMES.into_iter().filter(|name| order.only.iter().any(|one| one == name)) {
        peer.session.service().heard.lock().unwrap().clear();
        seen[name] = outcome(capabilities::carry_out(name, &peer).await);
    }
    let _ = peer.session.cancel().await;
    seen["reconnect"] = match connect(order).await {
        Ok(again) => {
            let listed = outcome(capabilities::carry_out("tools", &again).await);
            let _ = again.session.cancel().await;
            listed
        }
        Err(why) => why,
    };
    seen
}

/// Carries out the orders of standard input, one after the other, and prints what each saw.
pub async fn drive() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let seen = run(&serde_json::from_str(&line)?).await.to_string();
        // For the reader in JavaScript this is the end of a line.
        println!("{}", seen.replace('\u{2028}', "\\u2028"));
    }
    Ok(())
}
