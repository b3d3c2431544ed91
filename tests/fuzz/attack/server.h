// `weft serve` as a separate process.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "workspace.h"

namespace weft::attack {

/// A running server. The destructor kills it.
class Server {
 public:
  /// Starts the program and waits until it prints its address, or until it ends.
  Server(const Workspace& workspace, Arguments arguments, RunOptions options);
  ~Server() { end(SIGKILL); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  bool is_running() const { return port_ != 0 && !ended_; }
  const Arguments& arguments() const { return arguments_; }
  /// Sends a signal.
  void signal(int number) const;
  /// Sends a signal and waits for the end of the process. 0 = no signal.
  const Outcome& end(int signal);

  /// Returns the number of entries of a folder in /proc/PID, such as fd and task.
  std::int64_t count(const std::string& folder) const;
  /// Returns a value of /proc/PID/status in bytes, such as VmRSS.
  std::uint64_t memory(const std::string& key) const;

 private:
  Arguments arguments_;
  std::atomic<int> pid_ = 0;
  std::atomic<bool> ended_ = false;
  int port_ = 0;
  Outcome outcome_;
  std::thread thread_;
};

}  // namespace weft::attack
