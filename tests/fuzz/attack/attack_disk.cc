#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {
namespace {

namespace fs = std::filesystem;

/// A command that writes files into the folder "disk".
struct Writer {
  Arguments arguments;
  /// Files that exist in "disk" before the command runs, as pairs of the name in "disk" and the
  /// workspace file to copy.
  std::vector<std::pair<std::string, std::string>> files;
};

std::vector<Writer> writers(const Workspace& w) {
  const std::string gpt = w.path("gpt.weft"), out = w.path("disk/m.weft");
  std::vector<Writer> result = {
      {{"quantize", gpt, "--weights", "bf16", "--out", out}, {{"m.weft", "quantized.weft"}}},
      {{"merge", gpt, "--adapters", w.path("lora.lora.safetensors"), "--out", out},
       {{"m.weft", "merged.weft"}}},
      {{"run", w.path("gpt2-default"), "--inputs", w.path("gpt2-default/inputs.safetensors"),
        "--outputs", w.path("disk/o.safetensors")},
       {}},
      {{"train", "gpt", "--from", gpt, "--text", w.path("text.txt"), "--lora-rank", "2", "--steps",
        "2", "--batch", "2", "--save-every", "1", "--out", out},
       {{"m.weft", "lora.weft"}, {"m.lora.safetensors", "lora.lora.safetensors"}}}};
  for (const Task& task : w.tasks()) {
    Arguments arguments = task.arguments;
    arguments.insert(arguments.end(), {"--out", out});
    result.push_back({arguments, {{"m.weft", task.name + ".weft"}}});
    arguments.insert(arguments.end(), {"--best", w.path("disk/best.weft")});
    result.push_back(
        {arguments, {{"m.weft", task.name + ".weft"}, {"best.weft", task.name + ".weft"}}});
  }
  return result;
}

/// An injected failure of a C library call.
struct Fault {
  std::string call, error;
  std::uint64_t number;
  bool from_there_on;
  bool kills() const { return error == "kill"; }
  std::string str() const {
    return fmt::format("{} number {}{} {}", call, number,
                       from_there_on ? " and all later ones" : "",
                       kills() ? "is interrupted by SIGKILL" : "fails with error " + error);
  }
};

Fault draw_fault(Random& random) {
  // Calls that are frequent or especially important are listed several times.
  constexpr std::array kCalls = {"write",  "write",  "write", "short", "interrupted",
                                 "fsync",  "rename", "open",  "close", "fchmod",
                                 "unlink", "memory", "thread"};
  Fault fault;
  fault.call = kCalls[random_up_to(random, kCalls.size() - 1)];
  const bool memory = fault.call == "memory";
  fault.error = memory                        ? std::to_string(ENOMEM)
                : fault.call == "thread"      ? std::to_string(EAGAIN)
                : fault.call == "interrupted" ? std::to_string(EINTR)
                : random_up_to(random, 2) == 0
                    ? "kill"
                    : std::to_string(std::array{ENOSPC, EIO, EDQUOT}[random_up_to(random, 2)]);
  // Commands perform many writes but few other calls, so small numbers are enough to reach all
  // other calls.
  fault.number = memory ? random_up_to(random, std::uint64_t{1} << random_up_to(random, 19))
                 : fault.call == "write" ? random_up_to(random, 300)
                                         : random_up_to(random, 8);
  fault.from_there_on =
      fault.call != "interrupted" && fault.call != "short" && random_up_to(random, 2) == 0;
  return fault;
}

/// Makes reads of a file fail, starting at a random call. The command must report an error.
void fail_reading(const Workspace& w, const Budget& budget, Random& random, Report& report) {
  const Reader& reader = w.readers()[random_up_to(random, w.readers().size() - 1)];
  const bool alone = Workspace::substitute_path(reader.arguments, "x") != reader.arguments;
  const std::string path = w.path(reader.name);
  const char* const call = std::array{"read", "open-to-read", "mmap"}[random_up_to(random, 2)];
  const std::uint64_t number = random_up_to(random, 3);
  const std::string fired = w.path("fired");
  fs::remove(fired);
  const Arguments arguments = Workspace::substitute_path(reader.arguments, path);
  const Outcome outcome = w.program()(
      arguments, {.environment = {{"LD_PRELOAD", budget.shim},
                                  {"WEFT_FAULT", fmt::format("{}:{}+:{}", call, number, EIO)},
                                  {"WEFT_FAULT_PATH", path},
                                  {"WEFT_FAULT_FIRED", fired}}});
  report.count_run();
  const std::string fault =
      fmt::format("{} number {} of {} fails, and all later ones", call, number, reader.name);
  if (const std::string what = find_violation(outcome); !what.empty()) {
    report.add_finding(fault + ": " + what, arguments, outcome);
  } else if (alone && outcome.code == 0 && fs::exists(fired)) {
    report.add_finding(fault + ": the exit code is 0", arguments, outcome);
  }
}

bool is_model(const fs::path& path) {
  return path.extension() == ".weft" || path.extension() == ".safetensors";
}

/// Makes a call fail while files are written. Then checks that every file is either unchanged or a
/// complete new file.
void fail_writing(const Workspace& w, const Writer& writer, const Budget& budget, Random& random,
                  Report& report) {
  fs::remove_all(w.path("disk"));
  fs::create_directories(w.path("disk"));
  for (const auto& [to, from] : writer.files) fs::copy_file(w.path(from), w.path("disk/" + to));
  const Fault fault = draw_fault(random);
  const Arguments& arguments = writer.arguments;
  const Outcome outcome = w.program()(
      arguments,
      {.environment = {{"LD_PRELOAD", budget.shim},
                       {"WEFT_FAULT", fmt::format("{}:{}{}:{}", fault.call, fault.number,
                                                  fault.from_there_on ? "+" : "", fault.error)},
                       {"WEFT_FAULT_PATH", w.path("disk")}}});
  report.count_run();
  if (const std::string what = find_violation(outcome, {.signals_allowed = fault.kills()});
      !what.empty())
    report.add_finding(fault.str() + ": " + what, arguments, outcome);
  for (const auto& entry : fs::directory_iterator(w.path("disk"))) {
    const std::string name = entry.path().filename().string();
    if (name.find(".tmp-") != std::string::npos || !is_model(entry.path())) continue;
    const auto old = std::find_if(writer.files.begin(), writer.files.end(),
                                  [&](const auto& file) { return file.first == name; });
    const bool same = old != writer.files.end() && w.read("disk/" + name) == w.read(old->second);
    const Outcome verified = w.program()({"verify", entry.path().string()});
    if (!same && verified.code != 0) {
      report.add_finding(
          fault.str() + ": " + name + " is neither the old file nor a complete new one", arguments,
          verified, entry.path().string());
    }
  }
  for (const auto& [name, from] : writer.files) {
    if (!fs::exists(w.path("disk/" + name)))
      report.add_finding(fault.str() + ": " + name + " was deleted", arguments, outcome);
  }
  // If unlink() failed or the process was killed, temporary files may remain; the next save removes
  // them.
  if (fault.call == "unlink" || outcome.signal != 0) return;
  for (const std::string& left : w.temporaries())
    report.add_finding(fault.str() + ": a temporary file remains: " + left, arguments, outcome);
}

}  // namespace

void attack_disk(const Workspace& w, const Budget& budget, Report& report) {
  if (budget.shim.empty()) return;
  Random random(budget.seed);
  const Clock clock(budget.seconds);
  const std::vector<Writer> all = writers(w);
  while (!clock.over()) {
    if (random_up_to(random, 4) == 0) {
      fail_reading(w, budget, random, report);
    } else {
      fail_writing(w, all[random_up_to(random, all.size() - 1)], budget, random, report);
    }
  }
  fs::remove_all(w.path("disk"));
}

}  // namespace weft::attack
