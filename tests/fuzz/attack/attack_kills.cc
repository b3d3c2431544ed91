#include <fmt/format.h>
#include <signal.h>

#include <filesystem>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {

void attack_with_kills(const Workspace& w, const Budget& budget, Report& report) {
  Random random(budget.seed);
  const Clock clock(budget.seconds);
  constexpr int kSignals[] = {SIGKILL, SIGKILL, SIGTERM, SIGINT, SIGHUP};
  while (!clock.over()) {
    const Task& task = w.tasks()[random_up_to(random, w.tasks().size() - 1)];
    const std::string name = "killed-" + task.name + ".weft", path = w.path(name);
    std::filesystem::copy_file(w.path(task.name + ".weft"), path,
                               std::filesystem::copy_options::overwrite_existing);
    Arguments arguments = task.arguments;
    arguments.insert(arguments.end(), {"--out", path, "--seed", "5"});
    // Signals are sent at random moments within the duration of an undisturbed run.
    const Outcome whole = w.program()(arguments);
    if (const std::string what = find_violation(whole); !what.empty() || whole.code != 0) {
      report.add_finding("an undisturbed training run failed: " + what, arguments, whole);
      continue;
    }
    const auto max_moment = static_cast<std::uint64_t>(whole.seconds * 1e6);
    for (int i = 0; i < 8 && !clock.over(); ++i) {
      const std::uint64_t moment = random_up_to(random, max_moment);
      const int signal = kSignals[random_up_to(random, std::size(kSignals) - 1)];
      bool sent = false;
      const auto watch = [&](int pid, std::chrono::microseconds since) {
        if (sent || static_cast<std::uint64_t>(since.count()) < moment) return;
        sent = true;
        ::kill(pid, signal);
      };
      const Outcome outcome = w.program()(arguments, {.watch = watch});
      report.count_run();
      if (const std::string what = find_violation(outcome, {.signals_allowed = true});
          !what.empty())
        report.add_finding(fmt::format("signal {} after {} us: {}", signal, moment, what),
                           arguments, outcome);
      const Outcome verified = w.program()({"verify", path});
      if (verified.code != 0)
        report.add_finding(
            fmt::format("signal {} after {} us: the file is damaged", signal, moment),
            {"verify", path}, verified, path);
    }
    w.program()(arguments);
    for (const std::string& left : w.temporaries())
      report.add_finding("a temporary file remains after the next save: " + left, arguments, {});
  }
}

}  // namespace weft::attack
