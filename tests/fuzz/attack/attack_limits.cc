#include <fmt/format.h>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {
namespace {

/// Returns true if the program did not reach its own code because its shared libraries could not be
/// loaded or initialised.
bool failed_before_main(const Outcome& outcome, const Program& program, const Arguments& arguments,
                        RunOptions options) {
  if (outcome.err.find("error while loading shared libraries") != std::string::npos) return true;
  if (outcome.err.find("weft: ") != std::string::npos) return false;
  if (outcome.code != 127 && outcome.signal == 0) return false;
  // With LD_DEBUG=libs the loader reports on stderr when it transfers control to the program.
  options.environment.emplace_back("LD_DEBUG", "libs");
  return program(arguments, options).err.find("transferring control") == std::string::npos;
}

}  // namespace

void attack_with_limits(const Workspace& w, const Budget& budget, Report& report) {
  if (budget.sanitized) return;
  Random random(budget.seed);
  const Clock clock(budget.seconds);
  std::vector<Arguments> commands;
  for (const Task& task : w.tasks()) {
    commands.push_back(task.arguments);
    commands.back().insert(commands.back().end(), {"--out", w.path("limited.weft")});
  }
  for (const Reader& reader : w.readers()) {
    if (reader.kind == Kind::weft || reader.kind == Kind::image)
      commands.push_back(Workspace::substitute_path(reader.arguments, w.path(reader.name)));
  }
  while (!clock.over()) {
    const Arguments& arguments = commands[random_up_to(random, commands.size() - 1)];
    RunOptions options;
    std::string limit;
    switch (random_up_to(random, 4)) {
      case 0:
        options.descriptors = static_cast<int>(3 + random_up_to(random, 12));
        limit = fmt::format("{} descriptors", options.descriptors);
        break;
      case 1:
        // The lower bound leaves enough space for the error message, which is also written to a
        // file.
        options.file_size = 4096 + random_up_to(random, 60'000);
        limit = fmt::format("files of {} bytes", options.file_size);
        break;
      default:
        options.address_space =
            (random_up_to(random, 1) == 0 ? 20'000'000 + random_up_to(random, 80'000'000)
                                          : 20'000'000 + random_up_to(random, 600'000'000));
        limit = fmt::format("{} bytes of address space", options.address_space);
        break;
    }
    const Outcome outcome = w.program()(arguments, options);
    report.count_run();
    if (failed_before_main(outcome, w.program(), arguments, options)) continue;
    if (const std::string what = find_violation(outcome); !what.empty())
      report.add_finding(limit + ": " + what, arguments, outcome);
  }
}

}  // namespace weft::attack
