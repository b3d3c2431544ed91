// The HTTP server: every endpoint, every error, streams, disconnects and stopping.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "http_client.h"
#include "weft/models/serve/http/http_server.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/uses/tiny_folder.h"
#include "weft/tests/uses/writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(http)
namespace {

using testing::ClientReply;
using testing::HttpClient;
using testing::TemporaryFolder;
using Models = std::vector<std::shared_ptr<ServedModel>>;

const std::string kAnswer = "the grand old duke";

/// Folders of models that are written once.
const std::string& echo_folder() {  // answers every message with kAnswer
  static const TemporaryFolder folder("echo");
  static const std::string path = testing::write_echo_model(folder, 64, kAnswer);
  return path;
}
const std::string& endless_folder() {
  static const TemporaryFolder folder("endless");
  static const std::string path = testing::write_echo_model(folder, 4000, kAnswer, true);
  return path;
}
const std::string& random_folder() {
  static const TemporaryFolder folder("random");
  static const std::string path = testing::write_chat_model(folder, 400);
  return path;
}
const std::string& plain_folder() {  // without a chat template, context 48
  static const TemporaryFolder folder("plain");
  static const std::string path = testing::write_gpt2(folder);
  return path;
}

std::shared_ptr<ServedModel> served(const std::string& name, const std::string& path,
                                    const TextEngineOptions& options = {.slots = 4, .threads = 1}) {
  return std::make_shared<ServedModel>(name, path,
                                       ServedModelOptions{.text = options, .threads = 1});
}

/// A server that runs on a thread until the end of the scope.
class RunningServer {
 public:
  explicit RunningServer(Models models, HttpServerOptions options = {})
      : server_(std::move(models), with_free_port(std::move(options))),
        thread_([this] { server_.run(); }) {}
  ~RunningServer() { stop(std::chrono::seconds(0)); }
  std::uint16_t port() const { return port_; }
  void begin_stop(std::chrono::milliseconds grace) { server_.stop(grace); }
  /// Stops the server and waits for its end.
  void stop(std::chrono::milliseconds grace) {
    if (!thread_.joinable()) return;
    server_.stop(grace);
    thread_.join();
  }

 private:
  static HttpServerOptions with_free_port(HttpServerOptions options) {
    options.port = 0;
    return options;
  }
  HttpServer server_;
  const std::uint16_t port_ = server_.port();
  std::thread thread_;
};

json body_of(const ClientReply& reply) {
  BOOST_TEST_REQUIRE(reply.complete);
  return json::parse(reply.body);
}

/// Checks an error reply: status, message and code.
void check_error(const ClientReply& reply, int status, const std::string& message,
                 const std::string& code) {
  BOOST_TEST(reply.status == status);
  const json error = body_of(reply)["error"];
  BOOST_TEST(error["message"] == message);
  BOOST_TEST((error["code"].is_null() ? "" : error["code"].get<std::string>()) == code);
}

std::string chat(const std::string& model, const std::string& more = {}) {
  return R"({"model":")" + model + R"(","messages":[{"role":"user","content":"hi"}])" +
         (more.empty() ? "" : "," + more) + "}";
}

/// A cross-encoder with a single score.
json ranker_config() {
  json config = tiny_config("bert", "BertForSequenceClassification");
  config["num_labels"] = 1;
  config["id2label"] = {{"0", "LABEL_0"}};
  config["label2id"] = {{"LABEL_0", 0}};
  return config;
}

/// Waits until `holds` returns true.
void wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 3000 && !holds(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  BOOST_TEST_REQUIRE(holds());
}

/// Returns the content of a stream of a chat, and checks its first and last events.
std::string streamed_text(const ClientReply& reply) {
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.headers.at("content-type") == "text/event-stream");
  const auto events = reply.events();
  BOOST_REQUIRE(events.size() > 2);
  BOOST_TEST(events.back() == "[DONE]");
  BOOST_TEST(json::parse(events.front())["choices"][0]["delta"] ==
             json::parse(R"({"role":"assistant","content":""})"));
  std::string text;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const json choices = json::parse(events[i])["choices"];
    if (!choices.empty()) text += choices[0]["delta"].value("content", "");
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_chat_is_answered_whole_and_as_a_stream) {
  RunningServer server({served("echo", echo_folder())});
  HttpClient client(server.port());
  const json reply =
      body_of(client.post("/v1/chat/completions", chat("echo", R"("temperature":0)")));
  BOOST_TEST(reply["choices"][0]["message"]["content"] == kAnswer);
  BOOST_TEST(reply["choices"][0]["finish_reason"] == "stop");
  BOOST_TEST(reply["model"] == "echo");
  const std::int64_t prompt = reply["usage"]["prompt_tokens"];
  BOOST_TEST(reply["usage"]["total_tokens"] ==
             prompt + reply["usage"]["completion_tokens"].get<std::int64_t>());

  const ClientReply stream = client.post(
      "/v1/chat/completions",
      chat("echo", R"("temperature":0,"stream":true,"stream_options":{"include_usage":true})"));
  BOOST_TEST(streamed_text(stream) == kAnswer);
  const auto events = stream.events();
  const json last = json::parse(events[events.size() - 2]);
  BOOST_TEST(last["choices"].empty());
  BOOST_TEST(last["usage"]["prompt_tokens"] == prompt);
  const json end = json::parse(events[events.size() - 3]);
  BOOST_TEST(end["choices"][0]["finish_reason"] == "stop");
  BOOST_TEST(end["choices"][0]["delta"].empty());
  BOOST_TEST(end["usage"].is_null());
}

BOOST_AUTO_TEST_CASE(choices_lengths_stops_and_scores) {
  RunningServer server({served("random", random_folder()), served("echo", echo_folder())});
  HttpClient client(server.port());
  const auto ask = [&](const std::string& more) {
    return body_of(client.post("/v1/chat/completions", chat("random", more)));
  };
  const json two = ask(R"("n":2,"max_tokens":5,"seed":3)");
  BOOST_TEST(two["choices"].size() == 2U);
  BOOST_TEST(two["choices"][0]["message"]["content"] != two["choices"][1]["message"]["content"]);
  BOOST_TEST(two["choices"][1]["index"] == 1);
  BOOST_TEST(two["choices"][1]["finish_reason"] == "length");
  BOOST_TEST(two["usage"]["completion_tokens"] == 10);
  const json one = ask(R"("max_tokens":5,"seed":3,"logprobs":true,"top_logprobs":2)");
  BOOST_TEST(one["choices"][0]["message"]["content"] == two["choices"][0]["message"]["content"]);
  BOOST_TEST(one["usage"]["prompt_tokens"] == two["usage"]["prompt_tokens"]);
  const json scores = one["choices"][0]["logprobs"]["content"];
  BOOST_TEST(scores.size() == 5U);
  BOOST_TEST(scores[0]["top_logprobs"].size() == 2U);
  BOOST_TEST(scores[0]["logprob"] <= scores[0]["top_logprobs"][0]["logprob"]);

  const json stopped = body_of(
      client.post("/v1/chat/completions", chat("echo", R"("stop":" old","temperature":0)")));
  BOOST_TEST(stopped["choices"][0]["message"]["content"] == "the grand");
  BOOST_TEST(stopped["choices"][0]["finish_reason"] == "stop");
}

BOOST_AUTO_TEST_CASE(several_prompts_of_a_completion_have_their_own_texts) {
  RunningServer server({served("plain", plain_folder())});
  HttpClient client(server.port());
  const auto ask = [&](const std::string& prompt) {
    return body_of(client.post("/v1/completions",
                               R"({"prompt":)" + prompt + R"(,"temperature":0,"logprobs":1})"));
  };
  const json both = ask(R"(["the duke","of york"])");
  BOOST_TEST(both["choices"].size() == 2U);
  BOOST_TEST(both["choices"][1]["text"] == ask(R"("of york")")["choices"][0]["text"]);
  BOOST_TEST(both["usage"]["completion_tokens"] == 32);  // 16 each, unless max_tokens is given
  const json tokens =
      body_of(client.post("/tokenize", R"({"model":"plain","prompt":"of york"})"))["tokens"];
  BOOST_TEST(ask(tokens.dump())["choices"][0]["text"] == both["choices"][1]["text"]);
  const json scores = both["choices"][0]["logprobs"];
  BOOST_TEST(scores["tokens"].size() == 16U);
  std::string text;
  for (const json& token : scores["tokens"]) text += token.get<std::string>();
  BOOST_TEST(scores["text_offset"][0] == 0);
  if (text.find("\xef\xbf\xbd") == std::string::npos)
    BOOST_TEST(text == both["choices"][0]["text"]);
  BOOST_TEST(body_of(client.post("/detokenize", R"({"tokens":)" + tokens.dump() + "}"))["prompt"] ==
             "of york");
}

BOOST_AUTO_TEST_CASE(texts_have_the_form_that_a_request_demands) {
  RunningServer server({served("random", random_folder())});
  HttpClient client(server.port());
  const auto content = [&](const std::string& more) {
    const json reply = body_of(client.post("/v1/chat/completions", chat("random", more)));
    BOOST_TEST(reply["choices"][0]["finish_reason"] == "stop");
    return reply["choices"][0]["message"]["content"].get<std::string>();
  };
  BOOST_TEST((content(R"("guided_choice":["yes","no"])") == "yes" ||
              content(R"("guided_choice":["yes","no"])") == "no"));
  BOOST_TEST(content(R"("structured_outputs":{"regex":"[a-c]{3}-[0-9]"})").size() == 5U);
  const json object = json::parse(
      content(R"("response_format":{"type":"json_schema","json_schema":{"name":"s","schema":)"
              R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],)"
              R"("additionalProperties":false}}})"));
  BOOST_TEST(object["ok"].is_boolean());
  check_error(client.post("/v1/chat/completions", chat("random", R"("guided_regex":"(")")), 400,
              body_of(client.post("/v1/chat/completions",
                                  chat("random", R"("guided_regex":"(")")))["error"]["message"],
              "invalid_schema");
}

BOOST_AUTO_TEST_CASE(required_tools_are_called_whole_and_as_a_stream) {
  RunningServer server({served("random", random_folder())});
  HttpClient client(server.port());
  const std::string tool = R"({"type":"function","function":{"name":"f","parameters":{"type":)"
                           R"("object","properties":{"x":{"enum":["a","b"]}},"required":["x"],)"
                           R"("additionalProperties":false}}})";
  const std::string one = R"("seed":1,"tools":[)" + tool + R"(],"tool_choice":"required")";
  const json reply =
      body_of(client.post("/v1/chat/completions", chat("random", one)))["choices"][0];
  BOOST_TEST(reply["finish_reason"] == "tool_calls");
  const json call = reply["message"]["tool_calls"][0];
  BOOST_TEST(call["function"]["name"] == "f");
  BOOST_TEST(json::parse(call["function"]["arguments"].get<std::string>()).contains("x"));
  BOOST_TEST(reply["message"]["content"].is_null());

  const ClientReply stream =
      client.post("/v1/chat/completions", chat("random", one + R"(,"stream":true)"));
  std::string arguments, ids;
  for (const std::string& event : stream.events()) {
    if (event == "[DONE]") continue;
    const json delta = json::parse(event)["choices"][0]["delta"];
    if (!delta.contains("tool_calls")) continue;
    BOOST_TEST(delta["tool_calls"][0]["index"] == 0);
    arguments += delta["tool_calls"][0]["function"]["arguments"].get<std::string>();
    ids += delta["tool_calls"][0].contains("id") ? "i" : "-";
  }
  BOOST_TEST(arguments == call["function"]["arguments"]);
  BOOST_TEST(ids.starts_with("i"));
  BOOST_TEST(std::count(ids.begin(), ids.end(), 'i') == 1);  // the name and id occur once

  std::string other = tool;
  other.replace(other.find("\"f\""), 3, "\"g\"");
  const std::string two =
      R"("seed":1,"tools":[)" + tool + "," + other + R"(],"tool_choice":"required")";
  const json chosen =
      body_of(client.post("/v1/chat/completions", chat("random", two)))["choices"][0];
  const std::string name = chosen["message"]["tool_calls"][0]["function"]["name"];
  BOOST_TEST((name == "f" || name == "g"));
  check_error(
      client.post("/v1/chat/completions", chat("random", R"("tools":[)" + tool + "]")), 400,
      "the chat template of the model 'random' does not support tools: set 'tool_choice' to "
      "required or to the name of a tool",
      "unsupported_value");
}

BOOST_AUTO_TEST_CASE(models_status_metrics_and_page) {
  RunningServer server({served("echo", echo_folder()), served("plain", plain_folder())});
  HttpClient client(server.port());
  BOOST_TEST(client.get("/health").body == R"({"status":"ok"})");
  const json models = body_of(client.get("/v1/models"));
  BOOST_TEST(models["data"].size() == 2U);
  BOOST_TEST(models["data"][0]["id"] == "echo");
  BOOST_TEST(models["data"][0]["max_model_len"] == 64);
  BOOST_TEST(body_of(client.get("/v1/models/pla%69n"))["id"] == "plain");
  check_error(client.get("/v1/models/none"), 404,
              "the model 'none' does not exist: this server has echo, plain", "model_not_found");
  body_of(client.post("/v1/chat/completions", chat("echo", R"("max_tokens":3)")));
  const json status = body_of(client.get("/status"));
  BOOST_TEST(status["models"][0]["chat"] == true);
  BOOST_TEST(status["models"][1]["chat"] == false);
  BOOST_TEST(status["models"][0]["engine"]["requests"] == 1);
  BOOST_TEST(status["models"][0]["engine"]["new_tokens"] == 3);
  BOOST_TEST(status["models"][0]["memory"]["caches"] > 0);
  const std::string metrics = client.get("/metrics").body;
  BOOST_TEST(metrics.find("weft_engine_requests_total{model=\"echo\"} 1\n") != std::string::npos);
  BOOST_TEST(metrics.find("# TYPE weft_engine_running gauge\n") != std::string::npos);
  BOOST_TEST(metrics.find("weft_http_replies_total{path=\"/v1/chat/completions\","
                          "status=\"200\"} 1\n") != std::string::npos);
  BOOST_TEST(metrics.find("weft_http_replies_total{path=\"/v1/models\",status=\"200\"} 2\n") !=
             std::string::npos);

  const ClientReply page = client.get("/?x=1");
  BOOST_TEST(page.headers.at("content-type") == "text/html; charset=utf-8");
  BOOST_TEST(page.headers.at("content-security-policy").find("default-src 'none'") !=
             std::string::npos);
  BOOST_TEST(page.headers.at("x-content-type-options") == "nosniff");
  client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  BOOST_TEST(client.receive(true).headers.at("content-length") == std::to_string(page.body.size()));
  BOOST_TEST(client.get("/health").status == 200);  // HEAD has no body
}

BOOST_AUTO_TEST_CASE(invalid_requests_have_their_errors) {
  RunningServer server({served("echo", echo_folder()), served("plain", plain_folder())},
                       {.max_output = 30, .max_body = 3000});
  HttpClient client(server.port());
  const auto ask = [&](const std::string& json) {
    return client.post("/v1/chat/completions", json);
  };
  check_error(ask(chat("plain")), 400,
              "the model 'plain' has no chat template: use /v1/completions, or start the server "
              "with --chat-format (chatml, llama-2, llama-3, alpaca or a template file)",
              "no_chat_template");
  check_error(ask(chat("nobody")), 404,
              "the model 'nobody' does not exist: this server has echo, plain", "model_not_found");
  check_error(ask(R"({"messages":[{"role":"user","content":"hi"}]})"), 400,
              "the request lacks the field 'model': echo, plain", "missing_field");
  check_error(ask(chat("echo", R"("max_tokens":31)")), 400,
              "the request is for 31 tokens, but this server generates at most 30 per text",
              "invalid_value");
  std::string ids = "5";
  for (int i = 1; i < 48; ++i) ids += ",5";
  check_error(client.post("/v1/completions", R"({"model":"plain","prompt":[)" + ids + "]}"), 400,
              "the prompt has 48 tokens, but the context of the model has 48, including the new "
              "text: shorten the prompt",
              "context_length_exceeded");
  check_error(client.post("/v1/completions", R"({"model":"plain","prompt":[]})"), 400,
              "'prompt' must be a string, a list of strings, a list of token ids, or a list of "
              "lists of token ids, not []",
              "invalid_value");
  check_error(client.get("/v1/nothing"), 404, "there is no /v1/nothing", "not_found");
  const ClientReply wrong_method = client.get("/v1/completions");
  check_error(wrong_method, 405, "/v1/completions accepts POST, not GET", "method_not_allowed");
  BOOST_TEST(wrong_method.headers.at("allow") == "POST");
  client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  check_error(client.receive(), 415,
              "the type of the request is '': send JSON with the header 'Content-Type: "
              "application/json'",
              "unsupported_media_type");
  check_error(ask("{"), 400, body_of(ask("{"))["error"]["message"], "invalid_json");
  check_error(
      client.post("/v1/embeddings", R"({"model":"echo","input":"a"})"), 400,
      body_of(client.post("/v1/embeddings", R"({"model":"echo","input":"a"})"))["error"]["message"],
      "invalid_value");

  check_error(HttpClient(server.port()).post("/tokenize", std::string(3001, 'x')), 413,
              "the body of the request has more than 3000 bytes", "body_too_large");
  HttpClient chunked(server.port());
  chunked.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\nbb9\r\n" +
      std::string(3001, 'x') + "\r\n");
  check_error(chunked.receive(), 413, "the body of the request has more than 3000 bytes",
              "body_too_large");
  check_error(HttpClient(server.port()).get("/health", "X: " + std::string(20000, 'x') + "\r\n"),
              431, "the header of the request has more than 16384 bytes", "");
  HttpClient extended(server.port());
  extended.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1;a=" +
      std::string(200'000, 'x'));
  check_error(extended.receive(), 431,
              "an extension of a chunk or the trailer of the request is too long", "");
  HttpClient nonsense(server.port());
  nonsense.send("nonsense\r\n\r\n");
  BOOST_TEST(nonsense.receive().status == 400);
  BOOST_TEST(nonsense.is_closed());
  HttpClient foreign(server.port());
  foreign.send("GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  check_error(foreign.receive(), 403,
              "the host 'evil.example' is not this machine: use localhost, or start the server "
              "with --host",
              "wrong_host");
}

BOOST_AUTO_TEST_CASE(keys_and_origins) {
  RunningServer server({served("echo", echo_folder())},
                       {.api_keys = {"first", "second"}, .cors = "https://a.example"});
  HttpClient client(server.port());
  check_error(client.get("/v1/models"), 401,
              "this server needs an API key: send the header 'Authorization: Bearer KEY'",
              "invalid_api_key");
  for (const char* key : {"firsT", "firs", "firstly", ""}) {
    check_error(client.get("/v1/models", std::string("Authorization: Bearer ") + key + "\r\n"), 401,
                "the API key is not valid", "invalid_api_key");
  }
  for (const char* key : {"first", "second"})
    BOOST_TEST(
        client.get("/v1/models", std::string("Authorization: Bearer ") + key + "\r\n").status ==
        200);
  BOOST_TEST(client.get("/health").status == 200);
  const ClientReply page = client.get("/");
  BOOST_TEST(page.status == 200);
  BOOST_TEST(page.headers.at("access-control-allow-origin") == "https://a.example");
  client.send("OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const ClientReply preflight = client.receive(true);
  BOOST_TEST(preflight.status == 204);
  BOOST_TEST(preflight.headers.at("access-control-allow-headers") == "Authorization, Content-Type");
}

BOOST_AUTO_TEST_CASE(requests_follow_each_other_on_a_connection) {
  RunningServer server({served("echo", echo_folder())});
  HttpClient client(server.port());
  const std::string ask =
      HttpClient::request("/v1/chat/completions", chat("echo", R"("temperature":0)"));
  client.send(ask + ask + "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  for (int i = 0; i < 2; ++i)
    BOOST_TEST(body_of(client.receive())["choices"][0]["message"]["content"] == kAnswer);
  BOOST_TEST(client.receive().body == R"({"status":"ok"})");
  BOOST_TEST(client.is_closed());

  // The next request may arrive while the first one is processed.
  const auto endless = served("endless", endless_folder());
  RunningServer slower({endless});
  HttpClient eager(slower.port());
  eager.send(HttpClient::request("/v1/chat/completions",
                                 chat("endless", R"("temperature":0,"max_tokens":1500)")));
  wait_until([&] { return endless->text()->status().running == 1; });
  eager.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  BOOST_TEST(body_of(eager.receive())["usage"]["completion_tokens"] == 1500);
  BOOST_TEST(eager.receive().body == R"({"status":"ok"})");

  HttpClient careful(server.port());
  careful.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: 14\r\n\r\n");
  BOOST_TEST(careful.receive(true).status == 100);
  careful.send(R"({"prompt":"a"})");
  BOOST_TEST(body_of(careful.receive())["count"] == 1);

  HttpClient old(server.port());  // HTTP/1.0 has no chunks: the end of the stream closes it
  const std::string json = chat("echo", R"("temperature":0,"stream":true)");
  old.send(
      "POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(json.size()) + "\r\n\r\n" + json);
  BOOST_TEST(streamed_text(old.receive()) == kAnswer);
}

BOOST_AUTO_TEST_CASE(slow_clients_are_disconnected) {
  using std::chrono::milliseconds;
  RunningServer server({served("echo", echo_folder())}, {.max_unread = 50,
                                                         .header_time = milliseconds(50),
                                                         .body_time = milliseconds(50),
                                                         .idle_time = milliseconds(50)});
  BOOST_TEST(HttpClient(server.port()).is_closed());
  HttpClient header(server.port());
  header.send("GET /health HT");
  check_error(header.receive(), 408, "the request was not received in time", "timeout");
  BOOST_TEST(header.is_closed());
  HttpClient body(server.port());
  body.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 14\r\n\r\n{");
  check_error(body.receive(), 408, "the request was not received in time", "timeout");
  // A stream that the client does not read fast enough is cut off.
  HttpClient reader(server.port());
  BOOST_TEST(!reader.post("/v1/chat/completions", chat("echo", R"("stream":true)")).complete);
}

BOOST_AUTO_TEST_CASE(the_longest_idle_connection_makes_room) {
  RunningServer server({served("echo", echo_folder())}, {.max_connections = 2});
  HttpClient first(server.port());
  BOOST_TEST(first.get("/health").status == 200);
  HttpClient second(server.port());
  BOOST_TEST(second.get("/health").status == 200);
  HttpClient third(server.port());
  BOOST_TEST(third.get("/health").status == 200);
  BOOST_TEST(first.is_closed());
  BOOST_TEST(second.get("/health").status == 200);
}

BOOST_AUTO_TEST_CASE(a_disconnect_cancels_the_requests) {
  const auto model = served("endless", endless_folder(), {.slots = 1, .queue = 2, .threads = 1});
  RunningServer server({model});
  const auto running = [&] { return model->text()->status().running; };
  const auto waiting = [&] { return model->text()->status().waiting; };
  HttpClient stream(server.port()), whole(server.port()), third(server.port());
  stream.send(HttpClient::request("/v1/chat/completions",
                                  chat("endless", R"("stream":true,"temperature":0)")));
  BOOST_TEST(stream.receive_until(R"("delta":{"content":)"));
  whole.send(HttpClient::request("/v1/chat/completions", chat("endless", R"("temperature":0)")));
  wait_until([&] { return waiting() == 1; });
  third.send(HttpClient::request("/v1/chat/completions", chat("endless", R"("temperature":0)")));
  wait_until([&] { return waiting() == 2; });
  const ClientReply full = HttpClient(server.port()).post("/v1/chat/completions", chat("endless"));
  BOOST_TEST(full.status == 429);
  BOOST_TEST(full.headers.at("retry-after") == "1");
  BOOST_TEST(body_of(full)["error"]["code"] == "queue_full");
  third.close();  // while it waits
  wait_until([&] { return waiting() == 1; });
  stream.close();  // while it runs: the next request begins
  wait_until([&] { return waiting() == 0 && running() == 1; });
  whole.close();
  wait_until([&] { return running() == 0; });
  BOOST_TEST(model->text()->status().cancelled == 3);
  // The server answers others.
  BOOST_TEST(HttpClient(server.port()).get("/health").status == 200);
}

BOOST_AUTO_TEST_CASE(time_limits_end_texts) {
  RunningServer server({served("endless", endless_folder())});
  HttpClient client(server.port());
  const json reply = body_of(
      client.post("/v1/chat/completions", chat("endless", R"("timeout":0.2,"temperature":0)")));
  BOOST_TEST(reply["choices"][0]["finish_reason"] == "length");
  const std::string text = reply["choices"][0]["message"]["content"];
  BOOST_TEST((text.starts_with(kAnswer) || kAnswer.starts_with(text)));
  BOOST_TEST(reply["usage"]["completion_tokens"] < 3900);
}

BOOST_AUTO_TEST_CASE(stopping_ends_requests_and_then_the_server) {
  const auto model = served("endless", endless_folder());
  const auto short_model = served("echo", echo_folder());
  RunningServer server({model, short_model});
  HttpClient stream(server.port()), whole(server.port()), idle(server.port());
  BOOST_TEST(idle.get("/health").status == 200);
  stream.send(HttpClient::request("/v1/chat/completions",
                                  chat("endless", R"("stream":true,"temperature":0)")));
  BOOST_TEST(stream.receive_until(R"("delta":{"content":)"));
  whole.send(HttpClient::request("/v1/chat/completions", chat("endless", R"("temperature":0)")));
  wait_until([&] { return model->text()->status().running == 2; });
  server.begin_stop(std::chrono::milliseconds(100));
  BOOST_TEST(idle.is_closed());
  check_error(whole.receive(), 503, "the server stops before the request is complete", "stopping");
  const ClientReply ended = stream.receive();
  BOOST_TEST(ended.complete);
  BOOST_TEST(json::parse(ended.events().back())["error"]["code"] == "stopping");
  server.stop(std::chrono::seconds(0));
  BOOST_CHECK_THROW(HttpClient(server.port()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(requests_may_end_while_the_server_stops) {
  const auto model = served("endless", endless_folder());
  RunningServer server({model});
  HttpClient client(server.port());
  client.send(HttpClient::request("/v1/chat/completions",
                                  chat("endless", R"("temperature":0,"max_tokens":600)")));
  wait_until([&] { return model->text()->status().running == 1; });
  server.stop(std::chrono::seconds(30));
  const json reply = body_of(client.receive());
  BOOST_TEST(reply["usage"]["completion_tokens"] == 600);
}

BOOST_AUTO_TEST_CASE(encoders_answer_as_their_functions_do) {
  const TinyFolder encoder("bert", "Model");
  const auto model = served("e", encoder.path());
  RunningServer server({model, served("echo", echo_folder())});
  HttpClient client(server.port());
  const json floats = body_of(
      client.post("/v1/embeddings", R"({"model":"e","input":["the film","she lives in york"]})"));
  BOOST_TEST(floats["data"].size() == 2U);
  BOOST_TEST(floats["usage"]["prompt_tokens"] == floats["usage"]["total_tokens"]);
  std::promise<EmbeddingResult> promise;
  model->embed(
      {"the film", "she lives in york"}, {}, {},
      [&](EmbeddingResult result, std::exception_ptr) { promise.set_value(std::move(result)); });
  const EmbeddingResult direct = promise.get_future().get();
  const auto expected = direct.vectors.span<float>();
  const auto width = static_cast<std::size_t>(direct.vectors.size(1));
  for (std::size_t i = 0; i < 2 * width; ++i)
    BOOST_TEST(floats["data"][i / width]["embedding"][i % width].get<float>() == expected[i]);
  const json encoded = body_of(
      client.post("/v1/embeddings",
                  R"({"model":"e","input":"the film","encoding_format":"base64","dimensions":3})"));
  BOOST_TEST(encoded["data"][0]["embedding"].get<std::string>().size() == 16U);
  check_error(client.post("/v1/chat/completions", chat("e")), 400,
              "the model 'e' does not continue texts: it is for embed", "unsupported_model");
}

BOOST_AUTO_TEST_CASE(texts_are_ranked_classified_tagged_and_translated) {
  const TemporaryFolder folder("marian");
  const TinyFolder classes("bert", "ForSequenceClassification"),
      tags("bert", "ForTokenClassification");
  RunningServer server({served("classes", classes.path()), served("tags", tags.path()),
                        served("marian", testing::write_marian(folder))});
  HttpClient client(server.port());
  const auto ask = [&](const std::string& path, const std::string& json) {
    const ClientReply reply = client.post(path, json);
    BOOST_TEST_CONTEXT(reply.body) BOOST_TEST(reply.status == 200);
    return body_of(reply);
  };
  const json found =
      ask("/classify", R"({"model":"classes","input":["the film","bad"],"top_k":2})");
  BOOST_TEST(found["data"].size() == 2U);
  BOOST_TEST(found["data"][1]["index"] == 1);
  BOOST_TEST(found["data"][0]["classes"].size() == 2U);
  BOOST_TEST(found["data"][0]["classes"][0]["score"] >= found["data"][0]["classes"][1]["score"]);

  const json words = ask("/tag", R"({"model":"tags","input":"she lives"})")["data"][0]["words"];
  BOOST_TEST(words.size() == 2U);
  BOOST_TEST(words[1]["word"] == "lives");
  BOOST_TEST(words[1]["tag"].is_string());

  const json texts = ask("/translate", R"({"model":"marian","input":["the duke","of york"]})");
  BOOST_TEST(texts["data"].size() == 2U);
  BOOST_TEST(texts["data"][1]["text"].is_string());
  BOOST_TEST(texts["model"] == "marian");

  // The scores are those of the function, and the documents are sorted by them.
  const TinyFolder ranker(ranker_config());
  RunningServer other({served("ranker", ranker.path())});
  const json ranked = body_of(
      HttpClient(other.port())
          .post(
              "/v1/rerank",
              R"({"query":"the town","documents":["a film",{"text":"the river"},"york"],"top_n":2,)"
              R"("return_documents":true})"));
  const json results = ranked["results"];
  BOOST_TEST(results.size() == 2U);
  BOOST_TEST(results[0]["relevance_score"] >= results[1]["relevance_score"]);
  const std::vector<std::string> documents = {"a film", "the river", "york"};
  BOOST_TEST(results[0]["document"]["text"] == documents[results[0]["index"].get<std::size_t>()]);
}

BOOST_AUTO_TEST_CASE(names_and_addresses_are_checked) {
  BOOST_CHECK_EXCEPTION(HttpServer({}, {}), ArgumentError,
                        testing::says_exactly("a server needs at least one model"));
  BOOST_CHECK_EXCEPTION(
      HttpServer({served("a", echo_folder()), served("a", plain_folder())}, {.port = 0}),
      ArgumentError,
      testing::says_exactly("two models or adapters have the name 'a': give one of them another "
                            "name (NAME=PATH)"));
  const auto model = served("a", echo_folder());
  const HttpServer server({model}, {.port = 0});
  BOOST_CHECK_EXCEPTION(HttpServer({model}, {.port = server.port()}), IoError,
                        testing::says("cannot listen at 127.0.0.1:"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
