#include "server.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::attack {

namespace fs = std::filesystem;

Server::Server(const Workspace& workspace, Arguments arguments, RunOptions options)
    : arguments_(std::move(arguments)) {
  options.time_limit = std::chrono::hours(2);
  options.watch = [this](int pid, auto) { pid_ = pid; };
  const std::string out = workspace.path("stdout");
  fs::remove(out);
  thread_ = std::thread([this, &workspace, options] {
    outcome_ = workspace.program()(arguments_, options);
    ended_ = true;
  });
  const std::string before = "http://127.0.0.1:";
  for (int i = 0; i < 600 && !ended_ && port_ == 0; ++i) {
    ::usleep(50'000);
    std::stringstream text;
    text << std::ifstream(out).rdbuf();
    const std::size_t at = text.str().find(before);
    if (at != std::string::npos && text.str().find('\n', at) != std::string::npos)
      port_ = std::atoi(text.str().c_str() + at + before.size());
  }
}

void Server::signal(int number) const {
  if (!ended_ && pid_ > 0) ::kill(pid_, number);
}

const Outcome& Server::end(int number) {
  if (number != 0) signal(number);
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

std::int64_t Server::count(const std::string& folder) const {
  std::error_code gone;
  std::int64_t entries = 0;
  fs::directory_iterator at(fmt::format("/proc/{}/{}", pid_.load(), folder), gone);
  for (; !gone && at != fs::directory_iterator(); at.increment(gone)) ++entries;
  return entries;
}

std::uint64_t Server::memory(const std::string& key) const {
  std::ifstream file(fmt::format("/proc/{}/status", pid_.load()));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) << 10;
  }
  return 0;
}

}  // namespace weft::attack
