// weft_attack: tests the program `weft` with damaged files, signals, resource limits, failing
// disks, floods of input and hostile clients.
//
//   weft_attack --program PATH --goldens FOLDER --folder FOLDER [--shim LIBRARY]
//               [--sanitized yes] [--seconds N] [--seed N] [ATTACK ...]
//
// Runs the given attacks, or all of them, for N seconds each. Prints every finding with the command
// that reproduces it. The exit code is 1 if there are findings and 2 if the attacks could not run.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "attacks.h"

int main(int argc, char** argv) {
  using namespace weft::attack;
  struct Attack {
    const char* name;
    void (*run)(const Workspace&, const Budget&, Report&);
  };
  constexpr Attack kAttacks[] = {{"files", attack_files},        {"kills", attack_with_kills},
                                 {"limits", attack_with_limits}, {"disk", attack_disk},
                                 {"floods", attack_with_floods}, {"inputs", attack_inputs},
                                 {"options", attack_options},    {"clients", attack_with_clients}};
  std::map<std::string, std::string> options = {{"--seconds", "3"}, {"--seed", "1"}};
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--", 2) == 0 && i + 1 < argc) {
      options[argv[i]] = argv[i + 1];
      ++i;
    } else {
      wanted.emplace_back(argv[i]);
    }
  }
  ::signal(SIGPIPE, SIG_IGN);
  try {
    const std::filesystem::path folder = std::filesystem::absolute(options.at("--folder"));
    std::filesystem::remove_all(folder);
    Report report((folder.string() + "-found"));
    const Workspace workspace(options.at("--program"), options.at("--goldens"), folder.string(),
                              options["--sanitized"] == "yes");
    const Budget budget{std::stoull(options["--seed"]), std::stod(options["--seconds"]),
                        options["--shim"], options["--sanitized"] == "yes"};
    for (const Attack& attack : kAttacks) {
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), attack.name) == wanted.end())
        continue;
      const std::int64_t runs = report.runs(), findings = report.findings();
      attack.run(workspace, budget, report);
      fmt::print("{:<7} {} runs, {} findings (seed {})\n", attack.name, report.runs() - runs,
                 report.findings() - findings, budget.seed);
      std::fflush(stdout);
    }
    std::filesystem::remove_all(folder);
    return report.findings() == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "weft_attack: {}\n", e.what());
    return 2;
  }
}
