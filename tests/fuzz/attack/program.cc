#include "program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>

namespace weft::attack {
namespace {

using SteadyClock = std::chrono::steady_clock;

void limit(int resource, std::uint64_t value) {
  const rlimit both{value, value};
  ::setrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &both);
}

void redirect(const std::string& path, int flags, int to) {
  const int fd = ::open(path.c_str(), flags, 0600);
  if (fd < 0) ::_exit(126);
  ::dup2(fd, to);
  ::close(fd);
}

/// Returns the first MiB of a file.
std::string read_start(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::size_t{1} << 20, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

Outcome Program::operator()(const Arguments& arguments, const RunOptions& options) const {
  const std::string out = folder_ + "/stdout", err = folder_ + "/stderr";
  std::vector<char*> argv = {const_cast<char*>(path_.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const auto start = SteadyClock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    redirect(options.input.empty() ? "/dev/null" : options.input, O_RDONLY, 0);
    redirect(out, O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect(err, O_WRONLY | O_CREAT | O_TRUNC, 2);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    limit(RLIMIT_CORE, 0);
    if (!sanitized_) limit(RLIMIT_AS, options.address_space);
    if (options.file_size > 0) limit(RLIMIT_FSIZE, options.file_size);
    if (options.descriptors > 0)
      limit(RLIMIT_NOFILE, static_cast<std::uint64_t>(options.descriptors));
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  Outcome outcome;
  int status = 0;
  rusage usage{};
  for (;;) {
    if (::wait4(child, &status, WNOHANG, &usage) == child) break;
    const auto since = SteadyClock::now() - start;
    if (options.watch)
      options.watch(child, std::chrono::duration_cast<std::chrono::microseconds>(since));
    if (!outcome.timed_out && since > options.time_limit * (sanitized_ ? 10 : 1)) {
      outcome.timed_out = true;
      ::kill(-child, SIGKILL);
    }
    ::usleep(500);
  }
  outcome.seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  if (!sanitized_) outcome.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  outcome.out = read_start(out);
  outcome.err = read_start(err);
  return outcome;
}

std::string find_violation(const Outcome& o, const Rules& rules) {
  if (o.timed_out) return fmt::format("it was killed after the time limit ({:.0f} s)", o.seconds);
  if (o.signal != 0)
    return rules.signals_allowed ? "" : fmt::format("it was terminated by signal {}", o.signal);
  if (o.code < 0 || o.code > 2) return fmt::format("exit code {}", o.code);
  if (o.peak_bytes > rules.max_bytes)
    return fmt::format("it used {} MiB of memory", o.peak_bytes >> 20);
  if (o.code == 0) {
    static const std::regex figures("(loss|perplexity|accuracy)\\s+-?(nan|inf)\\b");
    if (std::regex_search(o.out, figures)) return "a metric is not finite, but the exit code is 0";
    return "";
  }
  const auto lines = std::count(o.err.begin(), o.err.end(), '\n');
  if (o.err.empty() || o.err.back() != '\n') return "no complete line on stderr";
  if (lines > rules.max_error_lines) return fmt::format("{} lines on stderr", lines);
  if (!o.err.starts_with("weft: ")) return "the error does not begin with \"weft: \"";
  if (o.err.size() > 8192) return fmt::format("the error message has {} bytes", o.err.size());
  if (o.err.find("std::") != std::string::npos) return "the error message mentions \"std::\"";
  return "";
}

std::string command_line(const Arguments& arguments) {
  std::string line = "weft";
  for (const std::string& a : arguments)
    line += a.find_first_of(" '\"$&|;<>*?(") == std::string::npos && !a.empty() ? " " + a
                                                                                : " '" + a + "'";
  return line;
}

}  // namespace weft::attack
