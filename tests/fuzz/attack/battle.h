// A server that hostile clients attack, while other clients check its answers.
#pragma once

#include <string>
#include <vector>

#include "client.h"
#include "mutate.h"
#include "report.h"
#include "server.h"

namespace weft::attack {

/// An ordinary request for completions, and the texts that a quiet server returns.
struct Question {
  std::string body, text = {};
};

class Battle {
 public:
  /// Starts a server and asks all questions once. `limits` are resource limits of the server.
  Battle(const Workspace& workspace, const Budget& budget, Report& report, RunOptions limits = {});

  /// Runs one kind of hostile clients while another client asks questions, and then waits until no
  /// request, descriptor and thread of them is left. Deviations are findings.
  void run(const std::string& name, void (Battle::*attack)());

  // The attacks (attack_clients.cc).
  void malformed();
  void floods();
  void bombs();
  void mutations();
  void slow();
  void connections();
  void disconnects();
  void pipelines();
  void overload();
  void stop();

  /// Adds a finding unless `holds`.
  void expect(bool holds, const std::string& otherwise);

 private:
  struct Levels {
    std::int64_t files = 0, threads = 0;
    std::uint64_t memory = 0;
  };
  HttpAnswer ask(const std::string& body) const;
  std::string check_answers(const std::atomic<bool>& stop) const;
  Levels levels() const;
  void settle(const std::string& name);

  const bool whole_;    // many clients; short runs have few
  const int patience_;  // factor of all times
  const bool sanitized_;
  const bool limited_;  // requests may fail
  Random random_;
  Report& report_;
  std::vector<Question> questions_;
  Levels base_;

 public:
  Server server;
};

/// Returns all values of a string field in JSON texts, joined.
std::string joined_values(const std::string& json, const std::string& field);
/// Returns the texts of a reply, or of all chunks of a stream.
std::string text_of(const HttpAnswer& answer);

}  // namespace weft::attack
