#include "weft/models/training/agreed_stop.h"

#include <algorithm>
#include <string>

namespace weft {
namespace {

constexpr int kStopChannel = Transport::kChannels - 8;

}  // namespace

bool AgreedStop::begin(bool requested) {
  const std::vector<std::string> all = world_.gather(requested ? "stop" : "");
  stop_ = std::find(all.begin(), all.end(), "stop") != all.end();
  return stop_;
}

bool AgreedStop::after_step(bool requested) {
  if (world_.size() == 1) {
    stop_ = stop_ || requested;
    return stop_;
  }
  send(requested);
  if (rounds_.size() > 1) stop_ = receive() || stop_;
  return stop_;
}

void AgreedStop::end() {
  while (!rounds_.empty()) receive();
}

void AgreedStop::send(bool requested) {
  Round& round = rounds_.emplace_back();
  round.own = std::byte{requested};
  round.all.resize(static_cast<std::size_t>(world_.size()), std::byte{0});
  Transport& transport = *world_.transport();
  for (int other = 0; other < world_.size(); ++other) {
    if (other == world_.rank()) continue;
    round.transfers.push_back(transport.receive(
        other, kStopChannel, {&round.all[static_cast<std::size_t>(other)], std::size_t{1}}));
    round.transfers.push_back(transport.send(other, kStopChannel, {&round.own, std::size_t{1}}));
  }
}

bool AgreedStop::receive() {
  Round& round = rounds_.front();
  for (const Transfer& transfer : round.transfers) world_.transport()->wait(transfer);
  const bool stop =
      round.own != std::byte{0} || std::any_of(round.all.begin(), round.all.end(),
                                               [](std::byte b) { return b != std::byte{0}; });
  rounds_.pop_front();
  return stop;
}

}  // namespace weft
