// GET /status and GET /metrics.
#include <fmt/format.h>

#include <iterator>

#include "weft/core/version.h"
#include "weft/models/serve/http/protocol/json_fields.h"
#include "weft/models/serve/http/routes.h"

namespace weft {
namespace {

struct Counter {
  const char *name, *help;
  bool total;  // a counter, which only grows; otherwise a gauge
  double value;
};

std::vector<Counter> engine_counters(const TextEngineStatus& s) {
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  return {
      {"running", "Texts that are generated", false, real(s.running)},
      {"waiting", "Texts that wait", false, real(s.waiting)},
      {"cache_blocks", "Blocks of the key/value cache", false, real(s.cache_blocks)},
      {"used_blocks", "Blocks that texts use", false, real(s.used_blocks)},
      {"reusable_blocks", "Blocks with prefixes that can be reused", false,
       real(s.reusable_blocks)},
      {"block_tokens", "Tokens per block", false, real(s.block_tokens)},
      {"requests", "Texts that were requested", true, real(s.requests)},
      {"cancelled", "Texts that were cancelled", true, real(s.cancelled)},
      {"failed", "Texts that failed", true, real(s.failed)},
      {"prompt_tokens", "Tokens of prompts", true, real(s.prompt_tokens)},
      {"cached_tokens", "Tokens of prompts with reused keys and values", true,
       real(s.cached_tokens)},
      {"new_tokens", "Generated tokens", true, real(s.new_tokens)},
      {"proposed_tokens", "Tokens that speculative decoding proposed", true,
       real(s.proposed_tokens)},
      {"accepted_tokens", "Proposed tokens that were accepted", true, real(s.accepted_tokens)},
      {"preempted", "Texts that gave up their blocks", true, real(s.preempted)},
      {"busy_seconds", "Time in runs of the model", true, s.busy_seconds},
  };
}

std::vector<Counter> queue_counters(const BatchQueueStatus& s) {
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  return {
      {"running", "Requests in the current batch", false, real(s.running)},
      {"waiting", "Requests that wait", false, real(s.waiting)},
      {"requests", "Requests", true, real(s.requests)},
      {"failed", "Requests that failed", true, real(s.failed)},
      {"cancelled", "Requests that were cancelled", true, real(s.cancelled)},
      {"tokens", "Tokens of texts", true, real(s.tokens)},
      {"batches", "Batches", true, real(s.batches)},
      {"busy_seconds", "Time in runs of the model", true, s.busy_seconds},
  };
}

Json counters_json(const std::vector<Counter>& counters) {
  Json json = Json::object();
  for (const Counter& counter : counters) {
    const auto whole = static_cast<std::int64_t>(counter.value);
    json[counter.name] =
        static_cast<double>(whole) == counter.value ? Json(whole) : Json(counter.value);
  }
  return json;
}

/// The text format of Prometheus: the samples of a metric follow its description.
class MetricsText {
 public:
  void add(const std::string& name, const char* help, bool total, const std::string& labels,
           double value) {
    Metric& metric = metrics_[name + (total ? "_total" : "")];
    metric.help = help;
    metric.type = total ? "counter" : "gauge";
    metric.samples.emplace_back(labels, value);
  }
  void add(const std::string& prefix, const std::vector<Counter>& counters,
           const std::string& model) {
    for (const Counter& one : counters)
      add(prefix + one.name, one.help, one.total, label("model", model), one.value);
  }
  std::string text() const {
    std::string out;
    for (const auto& [name, metric] : metrics_) {
      fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, metric.help,
                     metric.type);
      for (const auto& [labels, value] : metric.samples) {
        const std::string set = labels.empty() ? "" : "{" + labels + "}";
        fmt::format_to(std::back_inserter(out), "{}{} {}\n", name, set, value);
      }
    }
    return out;
  }
  static std::string label(const std::string& name, const std::string& value) {
    std::string escaped;
    for (const char c : value) {
      if (c == '\\' || c == '"') escaped += '\\';
      c == '\n' ? escaped += "\\n" : escaped += c;
    }
    return fmt::format("{}=\"{}\"", name, escaped);
  }

 private:
  struct Metric {
    std::string help, type;
    std::vector<std::pair<std::string, double>> samples;
  };
  std::map<std::string, Metric> metrics_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void Routes::status(const std::shared_ptr<Exchange>& exchange) {
  Json models = Json::array();
  for (const auto& entry : models_.all()) {
    const ServedModel& model = entry->model();
    Json json = {{"name", model.name()},
                 {"uses", entry->uses()},
                 {"context", json_or_null(entry->context())},
                 {"chat", entry->has_chat_format()},
                 {"adapters", Json::array()},
                 {"engine", nullptr},
                 {"queue", counters_json(queue_counters(model.status()))}};
    if (const TextEngine* engine = model.text()) {
      const TextEngineMemory memory = engine->memory();
      json["adapters"] = engine->adapters();
      json["memory"] = {
          {"weights", memory.weights}, {"caches", memory.caches}, {"arena", memory.arena}};
      json["engine"] = counters_json(engine_counters(engine->status()));
    }
    models.push_back(std::move(json));
  }
  post_json(exchange, json_text({{"version", std::string(version())},
                                 {"uptime_seconds", seconds_since(start_)},
                                 {"models", std::move(models)}}));
}

void Routes::metrics(const std::shared_ptr<Exchange>& exchange) {
  MetricsText metrics;
  metrics.add("weft_info", "The version of the server", false,
              MetricsText::label("version", std::string(version())), 1);
  metrics.add("weft_uptime_seconds", "Time since the start", false, "", seconds_since(start_));
  for (const auto& entry : models_.all()) {
    const ServedModel& model = entry->model();
    if (const TextEngine* engine = model.text())
      metrics.add("weft_engine_", engine_counters(engine->status()), model.name());
    metrics.add("weft_queue_", queue_counters(model.status()), model.name());
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [reply, number] : replies_) {
      metrics.add("weft_http_replies", "Replies by path and status", true,
                  MetricsText::label("path", reply.first) + "," +
                      MetricsText::label("status", std::to_string(reply.second)),
                  static_cast<double>(number));
    }
    metrics.add("weft_http_reply_seconds", "Time from requests to the end of replies", true, "",
                reply_seconds_);
  }
  post_reply(exchange, {200, metrics.text(), "text/plain; version=0.0.4; charset=utf-8"});
}

}  // namespace weft
