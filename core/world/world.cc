#include "weft/core/world/world.h"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/text_list.h"

namespace weft {
namespace {

constexpr int kWorldChannel = Transport::kChannels - 1;

// A text, with its length before it.
void send_text(Transport& transport, int to, std::string_view text) {
  const std::uint64_t size = text.size();
  const Transfer head =
      transport.send(to, kWorldChannel, std::as_bytes(std::span<const std::uint64_t>(&size, 1)));
  const Transfer rest = transport.send(to, kWorldChannel, std::as_bytes(std::span(text)));
  transport.wait(head);
  transport.wait(rest);
}

std::string receive_text(Transport& transport, int from) {
  std::uint64_t size = 0;
  transport.wait(transport.receive(from, kWorldChannel,
                                   std::as_writable_bytes(std::span<std::uint64_t>(&size, 1))));
  std::string text(size, '\0');
  transport.wait(
      transport.receive(from, kWorldChannel, std::as_writable_bytes(std::span<char>(text))));
  return text;
}

// Down the binomial tree: rank r has its text from r without its lowest bit.
std::string send_down(Transport& transport, std::string text) {
  const int rank = transport.rank(), size = transport.size();
  int bit = 1;
  while (bit < size && (rank & bit) == 0) bit *= 2;
  if (rank != 0) text = receive_text(transport, rank - bit);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (rank + bit < size) send_text(transport, rank + bit, text);
  }
  return text;
}

}  // namespace

void World::set_phase(std::string_view phase) const {
  if (transport_) transport_->set_phase(phase);
}

void World::poison(std::string_view why) const {
  if (transport_)
    transport_->poison(fmt::format("{}: {}", describe_rank(*transport_, rank()), why));
}

void World::or_poison(FunctionRef<void()> body) const {
  try {
    body();
  } catch (const WorldError&) {
    throw;
  } catch (const std::exception& e) {
    poison(e.what());
    throw;
  } catch (...) {  // of the caller's own
    poison("an exception");
    throw;
  }
}

void World::barrier() const { gather(""); }

std::vector<std::string> World::gather(std::string_view own) const {
  if (size() == 1) return {std::string(own)};
  // Up the tree: a rank's list is of the ranks from its own on, so that they end up in order.
  std::string list;
  append_text(list, own);
  for (int bit = 1; bit < size(); bit *= 2) {
    if ((rank() & bit) != 0) {
      send_text(*transport_, rank() - bit, list);
      break;
    }
    if (rank() + bit < size()) list += receive_text(*transport_, rank() + bit);
  }
  return split_texts(send_down(*transport_, std::move(list)));
}

std::string World::broadcast(std::string_view of_first) const {
  return size() == 1 ? std::string(of_first) : send_down(*transport_, std::string(of_first));
}

void World::check_same(std::string_view what, std::string_view own) const {
  const std::vector<std::string> all = gather(own);
  for (int r = 1; r < size(); ++r) {
    const std::string& other = all[static_cast<std::size_t>(r)];
    if (other == all[0]) continue;
    throw ArgumentError(fmt::format("ranks differ in {}: {} has {}, {} has {}", what,
                                    describe_rank(*transport_, 0), all[0],
                                    describe_rank(*transport_, r), other));
  }
}

}  // namespace weft
