// The program `weft` with a fault on one rank. WEFT_RANK_FAULT="RANK|PHASE|CALLS|COMMAND" makes
// that rank run a shell command after CALLS transport calls (send, receive, wait) in that phase;
// $PPID is the process of the rank. By then, the other ranks know that this rank is in the phase.
// The command "calls" is special: ranks print the number of calls in each of their phases as
// "RANK|CALLS|PHASE". RANK -1 means all ranks.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/mpi/mpi_transport.h"
#include "weft/core/world/forwarding_transport.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/program.h"

namespace weft {
namespace {

struct Fault {
  int rank = 0, calls = 0;
  std::string phase, command;

  static std::optional<Fault> asked() {
    const char* const text = std::getenv("WEFT_RANK_FAULT");
    if (text == nullptr || *text == '\0') return std::nullopt;
    std::string_view rest = text;
    const auto next = [&] {
      const std::size_t end = rest.find('|');
      if (end == std::string_view::npos)
        throw ArgumentError(
            fmt::format("WEFT_RANK_FAULT: '{}' is not RANK|PHASE|CALLS|COMMAND", text));
      const std::string_view part = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      return part;
    };
    const auto number = [&](int& value) {
      const std::string_view part = next();
      std::from_chars(part.data(), part.data() + part.size(), value);
    };
    Fault fault;
    number(fault.rank);
    fault.phase = next();
    number(fault.calls);
    fault.command = rest;
    return fault;
  }
};

// Wraps another transport and triggers the fault.
class FaultyTransport final : public ForwardingTransport {
 public:
  FaultyTransport(std::shared_ptr<Transport> other, Fault fault)
      : ForwardingTransport(std::move(other)),
        fault_(std::move(fault)),
        mine_(fault_.rank < 0 || rank() == fault_.rank),
        counts_(fault_.command == "calls") {}
  ~FaultyTransport() override { end_phase(); }

  Transfer send(int to, int channel, std::span<const std::byte> bytes) override {
    call();
    return ForwardingTransport::send(to, channel, bytes);
  }
  Transfer forward(const Transfer& received, int to, int channel,
                   std::span<const std::byte> bytes) override {
    call();
    return ForwardingTransport::forward(received, to, channel, bytes);
  }
  Transfer receive(int from, int channel, std::span<std::byte> bytes) override {
    call();
    return ForwardingTransport::receive(from, channel, bytes);
  }
  void wait(const Transfer& transfer) override {
    call();
    ForwardingTransport::wait(transfer);
  }
  void set_phase(std::string_view phase) override {
    ForwardingTransport::set_phase(phase);
    end_phase();
    {
      const std::lock_guard lock(mutex_);
      phase_ = phase;
      calls_ = -1;
    }
    call();
  }
  void leave() override {
    if (!left_.exchange(true)) call();
    ForwardingTransport::leave();
  }

 private:
  void end_phase() {
    const std::lock_guard lock(mutex_);
    if (mine_ && counts_) fmt::print(stderr, "{}|{}|{}\n", rank(), calls_, phase_);
  }

  void call() {
    {
      const std::lock_guard lock(mutex_);
      ++calls_;
      if (!mine_ || counts_ || happened_ || calls_ < fault_.calls || phase_ != fault_.phase) return;
      happened_ = true;
    }
    const std::chrono::milliseconds told(100), felt(50);
    std::this_thread::sleep_for(told);
    if (std::system(fault_.command.c_str()) != 0)
      fmt::print(stderr, "the fault fails: {}\n", fault_.command);
    std::this_thread::sleep_for(felt);
  }

  const Fault fault_;
  const bool mine_, counts_;
  std::atomic<bool> left_{false};
  std::mutex mutex_;
  bool happened_ = false;
  int calls_ = 0;
  std::string phase_ = "the start";
};

World connect_with_fault() {
  const std::optional<Fault> fault = Fault::asked();
  if (!fault || !started_by_mpi()) return program::connect_ranks();
  return program::world_over(std::make_shared<FaultyTransport>(
      connect_mpi({.silence = program::rank_silence_timeout()}), *fault));
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  return weft::program::run_program(argc, argv, weft::connect_with_fault);
}
