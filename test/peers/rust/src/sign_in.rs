use std::error::Error;

use rmcp::{
    ClientServiceExt, RoleClient,
    model::{CallToolRequestParams, JsonObject},
    service::RunningService,
    transport::{
        AuthClient, AuthorizationManager, AuthorizationRequest, StreamableHttpClientTransport, auth::OAuthState,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::client::{Handler, lifecycle, outcome, plain};

type Failure = Box<dyn Error>;

/// A client that signs in by itself: it is told the address of a server, where a browser returns and the era, says
/// where a browser has to go and is told where it ended up. Then each line it is told is the name of a tool to call, or
/// `list`; an empty one ends it.
pub async fn sign_in() -> Result<(), Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let (url, redirect, era) = (told(&mut lines).await?, told(&mut lines).await?, told(&mut lines).await?);
    let is_legacy = era == "legacy";
    let refused = StreamableHttpClientTransport::from_uri(url.clone());
    let challenge = match Handler::new(is_legacy).serve_with_lifecycle(refused, lifecycle(is_legacy)).await {
        Ok(_) => return Err("nobody has asked for a token".into()),
        Err(error) => error.auth_challenge().ok_or_else(|| error.to_string())?.to_owned(),
    };
    let mut login = OAuthState::new(&url, None).await?;
    login.start_authorization(AuthorizationRequest::new(redirect).with_challenge(challenge)).await?;
    println!("{}", login.get_authorization_url().await?);
    login.handle_callback_url(&told(&mut lines).await?).await?;
    let manager = login.into_authorization_manager().ok_or("not signed in")?;
    let session = connect(url, is_legacy, manager).await?;
    println!();
    loop {
        let order = told(&mut lines).await?;
        if order.is_empty() {
            session.cancel().await?;
            return Ok(());
        }
        let answer = if order == "list" {
            plain(session.list_tools(None).await)
        } else {
            plain(session.call_tool(CallToolRequestParams::new(order).with_arguments(JsonObject::new())).await)
        };
        println!("{}", outcome(answer));
    }
}

async fn told(lines: &mut Lines<BufReader<Stdin>>) -> Result<String, Failure> {
    Ok(lines.next_line().await?.unwrap_or_default())
}

async fn connect(
    url: String,
    is_legacy: bool,
    manager: AuthorizationManager,
) -> Result<RunningService<RoleClient, Handler>, Failure> {
    let client = AuthClient::new(reqwest::Client::new(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    Ok(Handler::new(is_legacy).serve_with_lifecycle(transport, lifecycle(is_legacy)).await?)
}
