#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "attacks.h"
#include "battle.h"

namespace weft::attack {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const std::string kCompletions = "/v1/completions";

std::string repeat(std::string_view part, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += part;
  return all;
}

}  // namespace

// Requests that are not HTTP, or that two servers could read in different ways (smuggling).
void Battle::malformed() {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const std::string line = "POST " + kCompletions + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  const std::string type = "Content-Type: application/json\r\n";
  const std::string chunks = "Transfer-Encoding: chunked\r\n";
  for (const std::string& request : std::vector<std::string>{
           "\r\n\r\n\r\n",
           "GET\r\n\r\n",
           "GET / HTTP/9.9\r\n\r\n",
           "GET / FTP/1.1\r\n\r\n",
           std::string("GET /\0 HTTP/1.1\r\n\r\n", 19),
           std::string(500, '\0'),
           "\x16\x03\x01\x02\x01\x01\xfc\x03\x03 TLS",
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
           "GET / HTTP/1.1\nHost: 127.0.0.1\n\n",
           "GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
           "GET / HTTP/1.1\r\n: x\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nA: b\rc\r\n\r\n",
           line + type + "Content-Length: -1\r\n\r\n",
           line + type + "Content-Length: +5\r\n\r\n{}",
           line + type + "Content-Length: 5, 6\r\n\r\n" + hidden,
           line + type + "Content-Length: 0x10\r\n\r\n" + hidden,
           line + type + "Content-Length: 99999999999999999999999\r\n\r\n",
           line + type + "Content-Length: 2\r\nContent-Length: 60\r\n\r\n{}" + hidden,
           line + type + "Content-Length: 5\r\n" + chunks + "\r\n0\r\n\r\n" + hidden,
           line + type + chunks + "Content-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
           line + type + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
           line + type + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden,
           line + type + chunks + "\r\n-1\r\n\r\n",
           line + type + chunks + "\r\nxyz\r\n\r\n",
           line + type + chunks + "\r\nfffffffffffffffff\r\n\r\n",
           line + type + chunks + "\r\n2\r\n{}X\r\n0\r\n\r\n" + hidden}) {
    Client client(server.port());
    client.send(request);
    bool closed = false;
    std::string answer = client.receive_all(milliseconds(50) * patience_, &closed);
    client.half_close();  // ends an incomplete request
    if (!closed) answer += client.receive_all(seconds(20) * patience_, &closed);
    const std::string shown = request.substr(0, 150);
    expect(closed, fmt::format("the connection stays open after {:?}", shown));
    // An empty body is a valid request of HTTP, but not of the API.
    expect(answer.empty() || answer.starts_with("HTTP/1.1 4"),
           fmt::format("{:?} is answered with {}", shown, answer));
    expect(answer.find("/hidden") == std::string::npos,
           fmt::format("{:?} contains a second request, which is answered: {}", shown, answer));
  }
}

// Headers, bodies, chunks and trailers without end.
void Battle::floods() {
  const std::string line =
      "POST " + kCompletions + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  const std::string chunked = line + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string block(1 << 16, 'a');
  struct Flood {
    const char* name;
    std::string begin, part;
    int status;
  };
  for (const auto& [name, begin, part, status] : std::vector<Flood>{
           {"endless target", "GET /", block, 431},
           {"endless header", "GET / HTTP/1.1\r\nA: ", block, 431},
           {"endless headers", "GET / HTTP/1.1\r\n", "A: b\r\n", 431},
           {"large body", line + "Content-Length: 1000000000\r\n\r\n", block, 413},
           {"endless body", line + "Content-Length: 9000000000000000000\r\n\r\n", block, 413},
           {"endless chunks", chunked, "10000\r\n" + block + "\r\n", 413},
           {"endless chunk", chunked + "7fffffffffffffff\r\n", block, 413},
           {"endless small chunks", chunked, repeat("20\r\n" + std::string(32, 'a') + "\r\n", 1000),
            413},
           {"endless chunk extension", chunked + "1;a=", block, 431},
           {"endless trailer", chunked + "0\r\nA: ", block, 431}}) {
    Client client(server.port());
    bool open = client.send(begin);
    constexpr std::size_t kMost = std::size_t{96} << 20;
    const Clock clock(20.0 * patience_);
    for (std::size_t sent = 0; open && sent < kMost && !clock.over(); sent += part.size())
      open = client.send(part);
    expect(!open, fmt::format("{}: the server reads more than {} MiB", name, kMost >> 20));
    const std::string answer = client.receive_all(seconds(20) * patience_);
    // The reply can be lost, because the server closes a connection with unread data.
    expect(answer.empty() || answer.find(fmt::format(" {} ", status)) == 8,
           fmt::format("{}: the answer is {} instead of {}", name, answer, status));
  }
}

// Small JSON texts, schemas and expressions that need much time or memory.
void Battle::bombs() {
  const auto with = [](const std::string& field, const std::string& value) {
    std::string body = fmt::format("{{\"{}\":{}", field, value);
    if (field != "prompt") body += R"(,"prompt":"a")";
    if (field != "max_tokens") body += R"(,"max_tokens":2)";
    return body + "}";
  };
  const auto schema = [&](const std::string& source) {
    return with("response_format",
                R"({"type":"json_schema","json_schema":{"name":"a","schema":)" + source + "}}");
  };
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  std::string nested = R"({"type":"string"})", wide = R"({"type":"object","properties":{)";
  for (int i = 0; i < 40; ++i)
    nested = fmt::format(R"({{"anyOf":[{0},{{"type":"null"}}]}})", nested);
  for (int i = 0; i < 20'000; ++i)
    wide += fmt::format(R"({}"p{}":{{"type":"string"}})", i > 0 ? "," : "", i);
  std::string doubling = R"({"$defs":{"d0":{"type":"string"})";
  for (int i = 1; i < 60; ++i) {
    doubling += fmt::format(
        R"(,"d{0}":{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/d{1}"}},"b":{{"$ref":"#/$defs/d{1}"}}}}}})",
        i, i - 1);
  }
  doubling += R"(},"$ref":"#/$defs/d59"})";
  std::vector<std::string> bodies = {
      deep,
      "{\"a\":" + deep + "}",
      repeat("{\"a\":", 500'000),
      with("stop", deep),
      with("seed", std::string(1'000'000, '9')),
      with("temperature", "1e999999999"),
      with("temperature", "1e-" + std::string(100'000, '9')),
      with("max_tokens", "9223372036854775808"),
      with("n", "128"),
      with("n", "1000000000"),
      with(std::string(2'000'000, 'k'), "1"),
      with("prompt", "\"" + std::string(4'000'000, 'a') + "\""),
      with("prompt", "[" + repeat("\"a\",", 200'000) + "\"a\"]"),
      with("prompt", "[" + repeat("1,", 1'000'000) + "1]"),
      with("prompt", "\"\\ud800\""),
      with("prompt", "\"\xff\xfe\xc3\x28\xed\xa0\x80\""),
      with("prompt", "\"\\u0000\\u0000\""),
      std::string("{\"prompt\":\"a\0\"}", 15),
      "{" + repeat("\"prompt\":\"a\",", 200'000) + "\"prompt\":\"a\"}",
      with("stop", "[" + repeat("\"a\",", 200'000) + "\"a\"]"),
      with("logit_bias", "{" + repeat("\"1\":1,", 200'000) + "\"1\":1}"),
      "null",
      "[]",
      "{}",
      "\"\"",
      "\xef\xbb\xbf{}",
      "NaN",
      "",
      schema(nested),
      schema(wide + "}}"),
      schema(doubling),
      schema(R"({"$ref":"#"})"),
      schema(R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})"),
      schema(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})"),
      schema(R"({"type":"array","items":{"type":"string"},"minItems":1000000000})"),
      schema(R"({"type":"string","minLength":1000000,"maxLength":1000000000})"),
      schema(R"({"type":"string","pattern":"^((a{1,1000}){1,1000}){1,1000}$"})"),
      schema("{\"enum\":[" + repeat("\"a\",", 200'000) + "\"a\"]}"),
      with("guided_regex", "\"(a|aa|aaa)*{1,100000}b\""),
      with("guided_regex", "\"((((a{9}){9}){9}){9}){9}\""),
      with("guided_regex", "\"(.*a.{20}){30}\""),
      with("guided_regex", "\"" + std::string(100'000, '(') + "\""),
      with("guided_choice", "[" + repeat("\"" + std::string(1000, 'a') + "\",", 3000) + "\"a\"]")};
  for (const std::string& body : bodies) {
    const Clock clock(10.0 * patience_);
    const HttpAnswer answer = ask(body);
    const std::string shown = fmt::format("{} ... ({} bytes)", body.substr(0, 200), body.size());
    expect(!clock.over(), "the answer takes more than 10 s: " + shown);
    const bool refused = answer.status == 400 || answer.status == 413 || answer.status == 429;
    expect(refused || answer.status == 200 || limited_,
           fmt::format("the answer is {} {}: {}", answer.status, answer.body, shown));
    expect(answer.body.size() < 100'000, "the answer is long: " + shown);
    expect(!refused || joined_values(answer.body, "message").size() > 10,
           fmt::format("no message for {}: {}", shown, answer.body));
    if (!server.is_running()) return expect(false, "the server ended after " + shown);
  }
}

// Random damage to valid requests.
void Battle::mutations() {
  const int count = whole_ ? 3000 : 150;
  for (int i = 0; i < count; ++i) {
    std::string body = questions_[random_up_to(random_, questions_.size() - 1)].body;
    const bool head = random_up_to(random_, 3) == 0;
    const std::string valid = post(kCompletions, body, "Connection: close\r\n");
    const std::string sent =
        head ? mutated(valid, true, random_)
             : post(kCompletions, mutated(body, true, random_), "Connection: close\r\n");
    Client client(server.port());
    client.send(sent);
    bool closed = false;
    std::string answer = client.receive_all(milliseconds(300) * patience_, &closed);
    client.half_close();  // ends an incomplete request
    if (!closed) answer += client.receive_all(seconds(30) * patience_, &closed);
    expect(closed, fmt::format("no end after {:?}", sent));
    expect(answer.find("HTTP/1.1 5") != 0, fmt::format("{:?} is answered with {}", sent, answer));
  }
}

// Clients that send or read slowly, or not at all.
void Battle::slow() {
  const int count = whole_ ? 200 : 20;
  std::vector<Client> senders, readers;
  const std::string body = fmt::format(
      R"({{"prompt":["a","b","c","d"],"n":8,"max_tokens":900,"seed":1,"stream":true,"logprobs":9}})");
  const std::string request = post(kCompletions, body);
  for (int i = 0; i < count; ++i) {
    senders.emplace_back(server.port());
    if (i % 2 == 1) senders.back().send(request.substr(0, request.size() - body.size()));
    if (i % 4 == 0 && i / 4 < (whole_ ? 8 : 3)) {
      readers.emplace_back(server.port(), 2048);
      readers.back().send(request);
    }
  }
  const Clock clock(whole_ ? 15 : 1);
  for (std::size_t at = 0; !clock.over() && at < body.size(); ++at) {
    for (std::size_t i = 0; i < senders.size(); ++i)
      senders[i].send((i % 2 == 1 ? body : request).substr(at, 1), milliseconds(1));
    ::usleep(whole_ ? 500'000 : 50'000);
  }
  if (!whole_) return;
  // The time to receive a header is over.
  for (std::size_t i = 0; i < senders.size(); i += 2) {
    bool closed = false;
    const std::string answer = senders[i].receive_all(seconds(10) * patience_, &closed);
    expect(closed && (answer.empty() || answer.starts_with("HTTP/1.1 408 ")),
           fmt::format("a slow header is answered with '{}', closed: {}", answer, closed));
  }
}

// Thousands of connections that do nothing.
void Battle::connections() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t count = std::min<std::size_t>(whole_ ? 10'000 : 1'200, limit.rlim_cur - 100);
  std::vector<Client> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(server.port());
    if (!clients.back().is_connected()) break;
    if (i % 3 == 1) clients.back().send("POST ");
    if (i % 3 == 2) clients.back().send("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  }
  expect(clients.size() == count, fmt::format("only {} connections of {}", clients.size(), count));
  for (int i = 0; i < 3; ++i) {
    const Question& q = questions_[static_cast<std::size_t>(i)];
    const HttpAnswer answer = ask(q.body);
    expect(text_of(answer) == q.text, fmt::format("with {} connections, {} is answered with {} {}",
                                                  count, q.body, answer.status, answer.body));
  }
}

// Clients that disappear: in a header, in a body, before, during and after the answer.
void Battle::disconnects() {
  const int count = whole_ ? 2000 : 120;
  const std::string body = R"({"prompt":["a","b"],"n":2,"max_tokens":800,"seed":1,"stream":true})";
  const std::string request = post(kCompletions, body);
  std::vector<Client> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(server.port());
    Client& client = clients.back();
    const std::uint64_t phase = random_up_to(random_, 4);
    client.send(
        request.substr(0, phase == 0 ? random_up_to(random_, request.size()) : request.size()));
    if (phase == 1) ::usleep(static_cast<unsigned>(random_up_to(random_, 3000)));
    if (phase == 2) client.wait(milliseconds(300) * patience_);
    if (phase == 3) client.half_close();
    if (clients.size() > 20) {  // so that up to 20 requests run and wait
      clients[random_up_to(random_, clients.size() - 1)].close(i % 2 == 0);
      std::erase_if(clients, [](const Client& c) { return !c.is_connected(); });
    }
  }
}

// Many requests in one packet: the answers have the same order.
void Battle::pipelines() {
  std::string all;
  const std::size_t count = whole_ ? 500 : 60;
  for (std::size_t i = 0; i < count; ++i)
    all += i % 10 == 3
               ? post(kCompletions, questions_[i / 10 % questions_.size()].body)
               : post("/tokenize", fmt::format(R"({{"prompt":"{}"}})", std::string(i + 1, 'a')));
  Client client(server.port());
  std::thread sender([&] { client.send(all, seconds(60) * patience_); });
  for (std::size_t i = 0; i < count; ++i) {
    const HttpAnswer answer = client.receive(seconds(60) * patience_);
    if (answer.status == 429 && i % 10 == 3) continue;
    const Question& q = questions_[i / 10 % questions_.size()];
    const auto tokens = std::count(answer.body.begin(), answer.body.end(), ',');
    const bool right = i % 10 == 3
                           ? text_of(answer) == q.text
                           : tokens >= static_cast<std::ptrdiff_t>(i) && answer.status == 200;
    expect(right, fmt::format("pipelined request {} of {} is answered with {} {}", i, count,
                              answer.status, answer.body));
    if (!right) break;
  }
  sender.join();
}

// More requests than the queue has room for: every one is answered, or rejected with 429.
void Battle::overload() {
  const std::size_t count = whole_ ? 800 : 120;
  std::vector<Client> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(post(kCompletions, questions_[i % questions_.size()].body));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Question& q = questions_[i % questions_.size()];
    const HttpAnswer answer = clients[i].receive(seconds(120) * patience_);
    const bool full =
        answer.status == 429 && answer.head.find("Retry-After: ") != std::string::npos;
    expect(full || text_of(answer) == q.text || limited_,
           fmt::format("request {} of {}, {}, is answered with {} {} instead of {}", i, count,
                       q.body, answer.status, answer.body, q.text));
  }
}

// SIGTERM while requests run and wait: all streams end, and the exit code is 0.
void Battle::stop() {
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) {
    clients.emplace_back(server.port());
    clients.back().send(
        post(kCompletions,
             fmt::format(R"({{"prompt":"a","max_tokens":900,"seed":{},"stream":true}})", i)));
  }
  clients.front().wait();
  const Clock clock(8.0 * patience_);  // --grace 3, and 3 s to end cancelled requests
  server.signal(SIGTERM);
  for (Client& client : clients) {
    const HttpAnswer answer = client.receive(seconds(20) * patience_);
    const bool ended = answer.body.find("[DONE]") != std::string::npos ||
                       answer.body.find("\"error\"") != std::string::npos;
    expect(ended || answer.status == 0,
           fmt::format("a stream ends without an end after SIGTERM: {} {}", answer.status,
                       answer.body.substr(answer.body.size() -
                                          std::min<std::size_t>(answer.body.size(), 300))));
  }
  const Outcome& outcome = server.end(0);
  expect(!clock.over(), "the server takes more than 8 s to end after SIGTERM");
  expect(outcome.code == 0 && outcome.signal == 0,
         fmt::format("exit code {}, signal {} after SIGTERM: {}", outcome.code, outcome.signal,
                     outcome.err));
}

void attack_with_clients(const Workspace& w, const Budget& budget, Report& report) {
  if (w.program()({"serve"}).err.find("unknown command") != std::string::npos) {
    fmt::print("clients: skipped, because the program was built without weft serve\n");
    return;
  }
  const Clock clock(budget.seconds);
  std::string chats;  // train a chat model, because a constrained text needs an end id
  for (int i = 0; i < 60; ++i) {
    chats += fmt::format(
        R"({{"messages":[{{"role":"user","content":"What is {}?"}},{{"role":"assistant",)"
        R"("content":"all work and no play makes jack a dull boy {}"}}]}})"
        "\n",
        i, i % 7);
  }
  w.write("chats.jsonl", chats);
  const Arguments train = {"train",         "gpt",
                           "--task",        "instructions",
                           "--data",        w.path("chats.jsonl"),
                           "--out",         w.path("served.weft"),
                           "--chat-format", "chatml",
                           "--vocab",       "300",
                           "--layers",      "1",
                           "--heads",       "1",
                           "--kv-heads",    "1",
                           "--width",       "16",
                           "--context",     "1024",
                           "--batch",       "1",
                           "--steps",       "3"};
  if (w.program()(train).code != 0) throw std::runtime_error(command_line(train) + " failed");
  struct Attack {
    const char* name;
    void (Battle::*run)();
  };
  constexpr Attack kAttacks[] = {{"malformed requests", &Battle::malformed},
                                 {"floods", &Battle::floods},
                                 {"bombs", &Battle::bombs},
                                 {"mutations", &Battle::mutations},
                                 {"slow clients", &Battle::slow},
                                 {"connections", &Battle::connections},
                                 {"disconnects", &Battle::disconnects},
                                 {"pipelines", &Battle::pipelines},
                                 {"overload", &Battle::overload}};
  std::uint64_t space = 0;
  {
    Battle battle(w, budget, report);
    do {  // every attack once, also in short runs
      for (const Attack& attack : kAttacks) battle.run(attack.name, attack.run);
    } while (!clock.over() && battle.server.is_running());
    space = battle.server.memory("VmPeak");
    if (battle.server.is_running()) battle.stop();
  }
  if (budget.sanitized) return;
  // With little memory, requests may fail, but the server continues.
  Battle battle(w, budget, report, {.address_space = space + (std::uint64_t{24} << 20)});
  for (const auto run : {&Battle::bombs, &Battle::floods, &Battle::connections, &Battle::overload})
    battle.run("limited memory", run);
  if (battle.server.is_running()) battle.stop();
}

}  // namespace weft::attack
