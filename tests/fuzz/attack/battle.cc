#include "battle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace weft::attack {
namespace {

using std::chrono::seconds;

constexpr double kFewClients = 30;  // in seconds: shorter runs have few clients

/// Returns the sum of all values of a number field in a JSON text.
std::int64_t sum_of(const std::string& json, const std::string& field) {
  std::int64_t sum = 0;
  const std::string key = "\"" + field + "\":";
  for (std::size_t at = 0; (at = json.find(key, at)) != std::string::npos;)
    sum += std::atoll(json.c_str() + (at += key.size()));
  return sum;
}

std::vector<Question> ordinary_questions() {
  std::vector<Question> all;
  for (const char* rest :
       {R"("prompt":"all work","max_tokens":40,"temperature":0)",
        R"("prompt":"no play","max_tokens":60,"temperature":0.9,"seed":7)",
        R"("prompt":"a dull","max_tokens":90,"temperature":1.2,"top_k":9,"seed":8,"stream":true)",
        R"("prompt":["jack","makes"],"max_tokens":30,"temperature":0.7,"seed":9,"n":2)",
        R"("prompt":"boy","max_tokens":50,"seed":3,"stop":["k a","wo"],"frequency_penalty":0.5)",
        R"("prompt":"and","max_tokens":40,"seed":5,"guided_regex":"(all|no) [a-k]{5,20}")"})
    all.push_back({fmt::format("{{{}}}", rest)});
  return all;
}

}  // namespace

std::string joined_values(const std::string& json, const std::string& field) {
  std::string values;
  const std::string key = "\"" + field + "\":\"";
  for (std::size_t at = 0; (at = json.find(key, at)) != std::string::npos;) {
    for (at += key.size(); at < json.size() && json[at] != '"'; ++at) {
      if (json[at] == '\\') values += json[at++];
      values += json[at];
    }
  }
  return values;
}

std::string text_of(const HttpAnswer& answer) {
  return joined_values(answer.body, "text") + "|" + joined_values(answer.body, "finish_reason");
}

Battle::Battle(const Workspace& workspace, const Budget& budget, Report& report, RunOptions limits)
    : whole_(budget.seconds > kFewClients),
      patience_(budget.sanitized ? 10 : 1),
      sanitized_(budget.sanitized),
      limited_(limits.address_space < RunOptions().address_space),
      random_(budget.seed),
      report_(report),
      questions_(ordinary_questions()),
      server(workspace,
             {"serve", "model=" + workspace.path("served.weft"), "--port", "0", "--slots", "8",
              "--queue", "64", "--grace", "3", "--log", "none", "--threads", "2"},
             std::move(limits)) {
  expect(server.is_running(), "the server does not start");
  if (!server.is_running()) return;
  for (Question& q : questions_) {
    const HttpAnswer answer = ask(q.body);
    q.text = text_of(answer);
    expect(answer.status == 200 && q.text.size() > 10,
           fmt::format("{} is answered with {} {}", q.body, answer.status, answer.body));
  }
  overload();  // starts all threads
  settle("");
  base_ = levels();
}

HttpAnswer Battle::ask(const std::string& body) const {
  Client client(server.port());
  client.send(post("/v1/completions", body));
  return client.receive(seconds(60) * patience_);
}

void Battle::expect(bool holds, const std::string& otherwise) {
  if (!holds) report_.add_finding(otherwise.substr(0, 1000), server.arguments(), {});
}

std::string Battle::check_answers(const std::atomic<bool>& stop) const {
  for (std::size_t i = 0; !stop; ++i) {
    const Question& q = questions_[i % questions_.size()];
    const HttpAnswer answer = ask(q.body);
    const bool failed = answer.status == 429 || answer.status == 503 ||
                        (limited_ && (answer.status == 500 || answer.status == 0));
    if (!failed && (answer.status != 200 || text_of(answer) != q.text)) {
      return fmt::format("{} is answered with {} {} instead of {}", q.body, answer.status,
                         answer.body, q.text);
    }
  }
  return {};
}

void Battle::run(const std::string& name, void (Battle::*attack)()) {
  if (!server.is_running()) return;
  report_.count_run();
  std::atomic<bool> stop = false;
  std::string wrong;
  std::thread other([&] { wrong = check_answers(stop); });
  (this->*attack)();
  stop = true;
  other.join();
  expect(wrong.empty(), name + ": " + wrong);
  settle(name);
}

Battle::Levels Battle::levels() const {
  return {server.count("fd"), server.count("task"), server.memory("VmRSS")};
}

void Battle::settle(const std::string& name) {
  const Clock clock(10.0 * patience_);
  std::string status;
  Levels now;
  bool quiet = false;
  do {
    ::usleep(20'000);
    {
      Client client(server.port());
      client.send("GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
      status = client.receive().body;
    }
    now = levels();
    quiet = !status.empty() && sum_of(status, "running") == 0 && sum_of(status, "waiting") == 0 &&
            sum_of(status, "used_blocks") == 0 &&
            (name.empty() || (now.files <= base_.files && now.threads <= base_.threads));
  } while (!quiet && !clock.over() && server.is_running());
  if (!server.is_running())
    return report_.add_finding(name + ": the server ended", server.arguments(), server.end(0));
  expect(quiet, fmt::format("{}: {} descriptors and {} threads instead of {} and {}; {}", name,
                            now.files, now.threads, base_.files, base_.threads, status));
  constexpr std::uint64_t kTolerance = std::uint64_t{64} << 20;  // caches of words and schemas
  expect(sanitized_ || name.empty() || now.memory < base_.memory + kTolerance,
         fmt::format("{}: {} MiB of memory instead of {}", name, now.memory >> 20,
                     base_.memory >> 20));
}

}  // namespace weft::attack
