#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {

void attack_disk(const Workspace& w, const Budget& budget, Report& report) {
  if (budget.shim.empty()) return;
  namespace fs = std::filesystem;
  Random random(budget.seed);
  const Clock clock(budget.seconds);
  constexpr const char* kCalls[] = {"write", "short",  "fsync", "rename",
                                    "open",  "fchmod", "unlink"};
  const std::string fired = w.path("fired"), path = w.path("disk/m.weft");
  fs::create_directories(w.path("disk"));
  const std::string gpt = w.path("gpt.weft");
  // With the file that is there before: of the same kind, so that it may be replaced.
  std::vector<std::pair<std::string, Arguments>> commands = {
      {"quantized", {"quantize", gpt, "--weights", "bf16", "--out", path}},
      {"merged", {"merge", gpt, "--adapters", w.path("lora.lora.safetensors"), "--out", path}}};
  for (const Task& task : w.tasks()) {
    commands.emplace_back(task.name, task.arguments);
    commands.back().second.insert(commands.back().second.end(), {"--out", path});
  }
  while (!clock.over()) {
    const auto& [name, plain] = commands[below(random, commands.size() - 1)];
    const char* call = kCalls[below(random, std::size(kCalls) - 1)];
    const int error = std::array{ENOSPC, EIO, EDQUOT}[below(random, 2)];
    // Few calls are not writes, so that all of the others are met.
    const std::uint64_t number = below(random, std::string_view(call) == "write" ? 300 : 6);
    fs::copy_file(w.path(name + ".weft"), path, fs::copy_options::overwrite_existing);
    fs::remove(fired);
    const std::string before = w.read("disk/m.weft");
    Arguments arguments = plain;
    const Outcome outcome = w.program()(
        arguments, {.environment = {{"LD_PRELOAD", budget.shim},
                                    {"WEFT_FAULT", fmt::format("{}:{}:{}", call, number, error)},
                                    {"WEFT_FAULT_PATH", w.path("disk")},
                                    {"WEFT_FAULT_FIRED", fired}}});
    report.ran();
    const std::string fault = fmt::format("{} number {} fails with error {}", call, number, error);
    if (const std::string what = complaint(outcome); !what.empty())
      report.found(fault + ": " + what, arguments, outcome);
    const bool same = w.read("disk/m.weft") == before;
    const Outcome verified = w.program()({"verify", path});
    if (!same && verified.code != 0)
      report.found(fault + ": the old file is gone, and the new one is not whole", arguments,
                   verified, path);
    if (outcome.code == 0 && verified.code != 0)
      report.found(fault + ": the exit code is 0, and the file is not whole", arguments, verified,
                   path);
    if (std::string_view(call) != "unlink" && !w.temporaries().empty())
      report.found(fault + ": a temporary file is left", arguments, outcome);
    for (const auto& entry : fs::directory_iterator(w.path("disk"))) {
      if (entry.path().filename() != "m.weft") fs::remove(entry.path());
    }
  }
}

}  // namespace weft::attack
