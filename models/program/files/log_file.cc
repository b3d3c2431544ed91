#include "weft/models/program/files/log_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {
namespace {

using nlohmann::ordered_json;

/// Returns null for NaN and infinity, because JSON has neither.
ordered_json figure(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

bool ends_within_a_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

}  // namespace

LogFile::LogFile(const OutputFile& file, bool append) : path_(file.path()), append_(append) {}

LogFile::~LogFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void LogFile::open() {
  const bool cut = append_ && ends_within_a_line(path_);
  file_ = std::fopen(path_.c_str(), append_ ? "ae" : "we");
  if (file_ == nullptr)
    throw IoError(fmt::format("--log: cannot write {}: {}", path_, std::strerror(errno)));
  if (cut) write("");  // a killed run left an incomplete line
}

void LogFile::write(const std::string& line) {
  if (failed_) return;
  errno = 0;
  failed_ = std::fputs((line + "\n").c_str(), file_) < 0 || std::fflush(file_) != 0;
  if (failed_) print_stderr("weft: --log: cannot write {}: {}\n", path_, std::strerror(errno));
}

double LogFile::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void LogFile::start(const TaskInfo& task, const TrainSettings& settings, const std::string& unit) {
  unit_ = unit;
  open();
  write(ordered_json{{"event", "start"},
                     {"task", task.id},
                     {"loss_unit", task.loss_unit},
                     {"settings", ordered_json::parse(settings.to_json())}}
            .dump());
}

void LogFile::on_step(const StepReport& r) {
  write(ordered_json{{"event", "step"},
                     {"step", r.step},
                     {"loss", figure(r.loss)},
                     {"learning_rate", figure(r.learning_rate)},
                     {"gradient_norm", figure(r.gradient_norm)},
                     {std::string(r.unit) + "_per_second", figure(r.items_per_second)},
                     {"seconds", seconds()}}
            .dump());
}

void LogFile::on_skip(const SkipReport& r) {
  write(ordered_json{{"event", "skip"},
                     {"step", r.step},
                     {"what", r.what},
                     {"loss", figure(r.loss)},
                     {"gradient_norm", figure(r.gradient_norm)}}
            .dump());
}

void LogFile::on_evaluation(std::int64_t step, const Evaluation& found, bool whole) {
  ordered_json metrics = ordered_json::object();
  for (const Metric& metric : found.metrics) metrics[metric.name] = figure(metric.value);
  write(ordered_json{{"event", "evaluation"},
                     {"step", step},
                     {"whole", whole},
                     {"loss", figure(found.loss)},
                     {"metrics", metrics},
                     {"seconds", seconds()}}
            .dump());
}

void LogFile::on_checkpoint(std::int64_t step) {
  write(ordered_json{{"event", "checkpoint"}, {"step", step}}.dump());
}

void LogFile::on_best(std::int64_t step, double loss) {
  write(ordered_json{{"event", "best"}, {"step", step}, {"loss", figure(loss)}}.dump());
}

void LogFile::end(const TrainOutcome& outcome) {
  ordered_json line{{"event", "end"},
                    {"step", outcome.step},
                    {"stopped", outcome.stopped},
                    {"out_of_patience", outcome.out_of_patience},
                    {"seconds", seconds()}};
  if (!outcome.ranks.empty()) {
    ordered_json& ranks = line["ranks"] = ordered_json::array();
    for (const RankSpeed& rank : outcome.ranks) {
      ranks.push_back({{unit_ + "_per_second", figure(rank.items_per_second)},
                       {"waiting", figure(rank.waiting)}});
    }
  }
  write(line.dump());
}

void Observers::on_step(const StepReport& report) {
  for (TrainObserver* observer : all_) observer->on_step(report);
}
void Observers::on_skip(const SkipReport& report) {
  for (TrainObserver* observer : all_) observer->on_skip(report);
}
void Observers::on_evaluation(std::int64_t step, const Evaluation& found, bool whole) {
  for (TrainObserver* observer : all_) observer->on_evaluation(step, found, whole);
}
void Observers::on_checkpoint(std::int64_t step) {
  for (TrainObserver* observer : all_) observer->on_checkpoint(step);
}
void Observers::on_gradient(std::int64_t step, const std::string& parameter,
                            const Tensor& gradient) {
  for (TrainObserver* observer : all_) observer->on_gradient(step, parameter, gradient);
}
void Observers::on_best(std::int64_t step, double loss) {
  for (TrainObserver* observer : all_) observer->on_best(step, loss);
}

}  // namespace weft::program
