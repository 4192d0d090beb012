use std::time::SystemTime;

use futures::future::join_all;
use rmcp::{ServiceError, model::*, service::Subscription};
use serde_json::{Value, json};

use crate::{
    WATCHED,
    client::{Answer, CALL_TIME, Heard, Peer, plain, until},
};

pub const NAMES: [&str; 19] = [
    "tools",
    "results",
    "unknown tool",
    "protocol error",
    "progress",
    "log messages",
    "sampling",
    "elicitation",
    "roots",
    "input required",
    "resources",
    "unknown resource",
    "prompts",
    "completion",
    "subscription",
    "list changed",
    "cancel",
    "state",
    "50 at once",
];

pub async fn carry_out(name: &str, peer: &Peer) -> Answer {
    match name {
        "tools" => tools(peer, |name| !name.starts_with("late_")).await.map(|names| json!(names)),
        "results" => results(peer).await,
        "unknown tool" => peer.call("nothing_like_it", json!({})).await,
        "protocol error" => peer.call("needs_url", json!({})).await,
        "progress" => hearing(peer, "progress", json!({ "steps": 3 }), 3).await,
        "log messages" => log_messages(peer).await,
        "sampling" => peer.call_for(peer.patience, "sample", json!({})).await,
        "elicitation" => peer.call_for(peer.patience, "elicit", json!({})).await,
        "roots" => peer.call_for(peer.patience, "roots", json!({})).await,
        "input required" => peer.call("confirm", json!({})).await,
        "resources" => resources(peer).await,
        "unknown resource" => read(peer, "test://nowhere").await,
        "prompts" => prompts(peer).await,
        "completion" => Ok(json!(peer.session.complete_prompt_simple("hello", "who", "A").await?)),
        "subscription" => subscription(peer).await,
        "list changed" => list_changed(peer).await,
        "cancel" => cancel(peer).await,
        "state" => {
            let kept = peer.call("remember", json!({ "value": "blue" })).await?;
            Ok(json!([kept, peer.call("recall", json!({})).await?]))
        }
        "50 at once" => burst(peer).await,
        _ => unreachable!("{name} is not among the names"),
    }
}

async fn tools(peer: &Peer, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, ServiceError> {
    let listed = peer.session.list_all_tools().await?;
    let mut names: Vec<String> = listed.into_iter().map(|tool| tool.name.into_owned()).collect();
    names.retain(|name| is_wanted(name));
    names.sort();
    Ok(names)
}

async fn results(peer: &Peer) -> Answer {
    let text = peer.call("echo", json!({ "text": "a \u{e9}\u{2028}\u{1f600}" })).await?;
    let structured = peer.call("structured", json!({ "n": 3 })).await?;
    Ok(json!([text, structured, peer.call("fail", json!({})).await?]))
}

async fn hearing(peer: &Peer, tool: &str, arguments: Value, count: usize) -> Answer {
    let answer = peer.call(tool, arguments).await?;
    let messages = || -> Vec<Value> {
        let message = |one| if let Heard::Message(message) = one { Some(message) } else { None };
        peer.so_far().into_iter().filter_map(message).collect()
    };
    until(peer.patience, async || messages().len() >= count).await;
    Ok(json!([answer, messages()]))
}

async fn log_messages(peer: &Peer) -> Answer {
    if !peer.is_modern() {
        peer.session.set_level(SetLevelRequestParams::new(LoggingLevel::Debug)).await?;
    }
    hearing(peer, "log", json!({}), 2).await
}

async fn read(peer: &Peer, uri: &str) -> Answer {
    plain(peer.session.read_resource(ReadResourceRequestParams::new(uri)).await)
}

async fn resources(peer: &Peer) -> Answer {
    let listed = peer.session.list_all_resources().await?;
    let mut uris: Vec<String> = listed.into_iter().map(|one| one.uri).collect();
    uris.sort();
    let templates = peer.session.list_all_resource_templates().await?;
    let template = templates.first().map(|one| &one.uri_template);
    Ok(json!([uris, template, read(peer, "test://static").await?, read(peer, "test://item/7").await?]))
}

async fn prompts(peer: &Peer) -> Answer {
    let listed = peer.session.list_all_prompts().await?;
    let arguments = JsonObject::from_iter([("who".to_owned(), json!("Ada"))]);
    let prompt = peer.session.get_prompt(GetPromptRequestParams::new("hello").with_arguments(arguments)).await;
    Ok(json!([listed.len(), listed.first().map(|one| &one.name), plain(prompt)?]))
}

/// The stream of 2026-07-28 on which the server tells what the filter asks for; earlier revisions tell it to the handler of the client.
async fn listen(peer: &Peer, filter: SubscriptionFilter) -> Result<Option<Subscription>, ServiceError> {
    if peer.is_modern() { Ok(Some(peer.session.listen(filter).await?)) } else { Ok(None) }
}

/// Whether the server tells it, on the stream or to the handler, in time.
async fn hears(peer: &Peer, stream: &mut Option<Subscription>, what: Heard) -> bool {
    let Some(stream) = stream else {
        return until(peer.patience, async || peer.so_far().contains(&what)).await;
    };
    match tokio::time::timeout(peer.patience, stream.next()).await {
        Ok(Ok(Some(ServerNotification::ToolListChangedNotification(_)))) => what == Heard::Tools,
        Ok(Ok(Some(ServerNotification::ResourceUpdatedNotification(update)))) => {
            what == Heard::Updated(update.params.uri)
        }
        _ => false,
    }
}

async fn subscription(peer: &Peer) -> Answer {
    let mut stream = listen(peer, SubscriptionFilter::builder().resource_subscription(WATCHED).build()).await?;
    if stream.is_none() {
        peer.session.subscribe(SubscribeRequestParams::new(WATCHED)).await?;
    }
    peer.call("touch", json!({})).await?;
    let heard = hears(peer, &mut stream, Heard::Updated(WATCHED.to_owned())).await;
    match stream {
        Some(mut stream) => stream.cancel().await?,
        None => peer.session.unsubscribe(UnsubscribeRequestParams::new(WATCHED)).await?,
    }
    Ok(json!(heard))
}

fn unique() -> String {
    SystemTime::UNIX_EPOCH.elapsed().map(|since| format!("{:x}", since.as_nanos())).unwrap_or_default()
}

async fn list_changed(peer: &Peer) -> Answer {
    let late = format!("late_{}", unique());
    let mut stream = listen(peer, SubscriptionFilter::builder().tools_list_changed().build()).await?;
    peer.call("add_tool", json!({ "name": late })).await?;
    let heard = hears(peer, &mut stream, Heard::Tools).await;
    let listed =
        until(peer.patience, async || tools(peer, |name| name == late).await.is_ok_and(|found| found.len() == 1));
    let listed = listed.await;
    let answer = peer.call(&late, json!({})).await?;
    peer.call("remove_tool", json!({ "name": late })).await?;
    if let Some(mut stream) = stream {
        stream.cancel().await?;
    }
    Ok(json!([heard, listed, answer]))
}

/// The SDK cancels a call that its caller drops.
async fn cancel(peer: &Peer) -> Answer {
    let key = json!({ "key": unique() });
    let stands = async |how: &str| {
        let state = peer.call("slow_state", key.clone()).await;
        state.is_ok_and(|state| state.to_string().contains(how))
    };
    let how = tokio::select! {
        answer = peer.call("slow", key.clone()) => format!("{answer:?}"),
        _ = until(CALL_TIME, async || stands("running").await) => "dropped".to_owned(),
    };
    Ok(json!([how, until(peer.patience, async || stands("cancelled").await).await]))
}

async fn burst(peer: &Peer) -> Answer {
    let calls = (0..50).map(async |n| {
        let text = format!("<{n}>");
        peer.call("echo", json!({ "text": text })).await.is_ok_and(|answer| answer.to_string().contains(&text))
    });
    Ok(json!(join_all(calls).await.into_iter().filter(|is_right| *is_right).count()))
}
