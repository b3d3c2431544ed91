#include "report.h"

#include <fmt/format.h>

#include <filesystem>

namespace weft::attack {

void Report::add_finding(const std::string& what, const Arguments& arguments,
                         const Outcome& outcome, const std::string& file) {
  ++findings_;
  fmt::print("FOUND {}\n  {}\n  exit code {}, signal {}, {:.2f} s, {} MiB\n", what,
             command_line(arguments), outcome.code, outcome.signal, outcome.seconds,
             outcome.peak_bytes >> 20);
  if (!outcome.err.empty()) fmt::print("  stderr: {}\n", outcome.err.substr(0, 600));
  if (!file.empty()) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    fs::create_directories(kept_, ignored);
    const std::string to =
        fmt::format("{}/{}-{}", kept_, findings_, fs::path(file).filename().string());
    fs::copy(file, to, fs::copy_options::overwrite_existing | fs::copy_options::recursive, ignored);
    fmt::print("  kept: {}\n", to);
  }
  std::fflush(stdout);
}

}  // namespace weft::attack
