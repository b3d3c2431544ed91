// weft_messages_bench: two ranks send each other messages at the same time. Measures the throughput
// and the time until the first message arrives.
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/mpi/mpi_transport.h"
#include "weft/core/world/transport.h"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

constexpr int kChannel = 1, kStart = 2;
constexpr std::size_t kMessages = 30, kBytes = std::size_t{8} << 20;

// Waits until both ranks have reached this point.
void synchronise(Transport& transport, int other) {
  std::byte sent{}, got{};
  const Transfer ours = transport.send(other, kStart, {&sent, 1});
  transport.wait(transport.receive(other, kStart, {&got, 1}));
  transport.wait(ours);
}

void measure(Transport& transport) {
  const int other = 1 - transport.rank();
  std::vector<std::byte> out(kMessages * kBytes), in(kMessages * kBytes);
  synchronise(transport, other);
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::vector<Transfer> receives, sent;
  for (std::size_t i = 0; i < kMessages; ++i) {
    receives.push_back(
        transport.receive(other, kChannel, std::span(in).subspan(i * kBytes, kBytes)));
    sent.push_back(transport.send(other, kChannel, std::span(out).subspan(i * kBytes, kBytes)));
  }
  transport.wait(receives.front());
  const double first = seconds();
  for (const Transfer& t : receives) transport.wait(t);
  const double all = seconds();
  for (const Transfer& t : sent) transport.wait(t);
  fmt::print(
      "rank {}: the first of {} messages of 8 MiB after {:.2f} s, all after {:.2f} s: {:.0f} "
      "MB/s\n",
      transport.rank(), kMessages, first, all, kMessages * kBytes / all / 1e6);
  std::fflush(stdout);
}

}  // namespace

int main() {
  try {
    const auto transport = connect_mpi();
    if (transport->size() != 2) throw ArgumentError("weft_messages_bench needs exactly two ranks");
    constexpr int kRounds = 3;
    for (int i = 0; i < kRounds; ++i) measure(*transport);
    transport->leave();
  } catch (const Error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
  return 0;
}
