use std::time::Duration;

use rmcp::{ErrorData, RoleServer, ServiceError, model::*, service::RequestContext};
use serde_json::{Value, json};

use crate::server::{Handler, Told};

pub const NAMES: [&str; 17] = [
    "echo",
    "structured",
    "fail",
    "needs_url",
    "progress",
    "log",
    "slow",
    "slow_state",
    "remember",
    "recall",
    "add_tool",
    "remove_tool",
    "touch",
    "sample",
    "elicit",
    "roots",
    "confirm",
];

type Context = RequestContext<RoleServer>;
type Result<T> = std::result::Result<T, ErrorData>;

fn text(said: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(said)]).into()
}

fn as_json(answer: std::result::Result<impl serde::Serialize, ServiceError>) -> CallToolResponse {
    match answer {
        Ok(answer) => text(json!(answer).to_string()),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into(),
    }
}

fn failed(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

pub async fn call(handler: &Handler, params: CallToolRequestParams, context: Context) -> Result<CallToolResponse> {
    let arguments = json!(params.arguments);
    let said = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let world = &handler.world;
    match &*params.name {
        "echo" => Ok(text(said("text"))),
        "structured" => {
            let n = arguments["n"].as_i64().unwrap_or_default();
            Ok(CallToolResult::structured(json!({ "n": n, "twice": 2 * n })).into())
        }
        "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("it does not work")]).into()),
        "needs_url" => {
            let page =
                json!({ "mode": "url", "message": "sign in", "url": "https://example.com/", "elicitationId": "e1" });
            Err(ErrorData::new(ErrorCode(-32_042), "sign in first", Some(json!({ "elicitations": [page] }))))
        }
        "progress" => progress(arguments["steps"].as_u64().unwrap_or_default(), &context).await,
        "log" => log(handler, &context).await,
        "slow" => Ok(slow(handler, said("key"), &context).await),
        "slow_state" => Ok(text(world.slow.lock().unwrap().get(&said("key")).copied().unwrap_or("unknown"))),
        "remember" => {
            *handler.remembered.lock().unwrap() = Some(said("value"));
            Ok(text("kept"))
        }
        "recall" => Ok(text(handler.remembered.lock().unwrap().as_deref().unwrap_or("nothing"))),
        "add_tool" => {
            world.late.lock().unwrap().insert(said("name"));
            world.tell(Told::ToolsChanged);
            Ok(text("added"))
        }
        "remove_tool" => {
            world.late.lock().unwrap().remove(&said("name"));
            world.tell(Told::ToolsChanged);
            Ok(text("removed"))
        }
        "touch" => {
            world.tell(Told::Touched);
            Ok(text("touched"))
        }
        "sample" => {
            let asked = CreateMessageRequestParams::new(vec![SamplingMessage::user_text("what?")], 9);
            Ok(as_json(context.peer.create_message(asked).await))
        }
        "elicit" => Ok(as_json(context.peer.create_elicitation(question()).await)),
        "roots" => Ok(as_json(context.peer.list_roots().await)),
        "confirm" => Ok(confirm(params)),
        late if world.late.lock().unwrap().contains(late) => Ok(text("late")),
        unknown => Err(ErrorData::invalid_params(format!("there is no tool {unknown}"), None)),
    }
}

async fn progress(steps: u64, context: &Context) -> Result<CallToolResponse> {
    if let Some(token) = context.meta.get_progress_token() {
        for step in 1..=steps {
            let told = ProgressNotificationParam::new(token.clone(), step as f64).with_total(steps as f64);
            context.peer.notify_progress(told.with_message(format!("step {step}"))).await.map_err(failed)?;
        }
    }
    Ok(text("done"))
}

async fn log(handler: &Handler, context: &Context) -> Result<CallToolResponse> {
    if handler.logs(context) {
        for (level, said) in [(LoggingLevel::Info, "first"), (LoggingLevel::Warning, "second")] {
            let message = LoggingMessageNotificationParam::new(level, json!(said));
            context.peer.notify_logging_message(message).await.map_err(failed)?;
        }
    }
    Ok(text("logged"))
}

async fn slow(handler: &Handler, key: String, context: &Context) -> CallToolResponse {
    let stands = |how| handler.world.slow.lock().unwrap().insert(key.clone(), how);
    stands("running");
    tokio::select! {
        () = context.ct.cancelled() => stands("cancelled"),
        () = tokio::time::sleep(Duration::from_secs(10)) => stands("finished"),
    };
    text("finished")
}

fn question() -> ElicitRequestParams {
    let schema = json!({ "type": "object", "properties": { "colour": { "type": "string" } } });
    let params = json!({ "mode": "form", "message": "which?", "requestedSchema": schema });
    serde_json::from_value(params).expect("the SDK reads what the specification allows")
}

fn confirm(params: CallToolRequestParams) -> CallToolResponse {
    if let Some(answer) = params.input_responses.as_ref().and_then(|answers: &_| answers.get("which")) {
        return text(Value::to_string(answer));
    }
    let asked = InputRequest::Elicitation(ElicitRequest::new(question()));
    let requests = InputRequests::from([("which".to_owned(), asked)]);
    InputRequiredResult::new(Some(requests), Some("kept by the client".to_owned())).into()
}
