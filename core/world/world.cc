#include "weft/core/world/world.h"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/handshake.h"
#include "weft/core/world/text_list.h"

namespace weft {
namespace {

constexpr int kWorldChannel = Transport::kChannels - 1;

// Poisons the world because a text exceeds the maximum length.
[[noreturn]] void reject_text(Transport& transport, int from, std::uint64_t bytes) {
  transport.poison(fmt::format("{} sends a text of {} bytes; the limit is {}",
                               describe_rank(transport, from), bytes, World::kMaxTextBytes));
  throw WorldError(transport.poisoned());
}

// Sends the length of a text, then the text.
void send_text(Transport& transport, int to, std::string_view text) {
  const std::uint64_t size = text.size();
  if (size > World::kMaxTextBytes) reject_text(transport, transport.rank(), size);
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
  if (size > World::kMaxTextBytes) reject_text(transport, from, size);
  std::string text(size, '\0');
  transport.wait(
      transport.receive(from, kWorldChannel, std::as_writable_bytes(std::span<char>(text))));
  return text;
}

// Broadcasts the text of rank 0 down a binomial tree. Rank r receives the text from rank r & (r -
// 1), that is, r with the lowest set bit cleared.
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

World::World(std::shared_ptr<Transport> transport, const WorldOptions& options)
    : transport_(std::move(transport)), options_(options) {
  if (transport_) levels_ = std::make_shared<const Levels>(*transport_, options.max_direct);
}

void World::set_phase(std::string_view phase) const {
  if (transport_) transport_->set_phase(phase);
}

void World::poison(std::string_view why) const {
  if (transport_)
    transport_->poison(fmt::format("{}: {}", describe_rank(*transport_, rank()), why));
}

void World::poison_on_error(FunctionRef<void()> body, std::string_view when) const {
  try {
    body();
  } catch (const WorldError&) {
    throw;
  } catch (const std::exception& e) {
    poison(when.empty() ? e.what() : fmt::format("{}: {}", when, e.what()));
    throw;
  } catch (...) {  // any exception type that the caller throws
    poison("an exception");
    throw;
  }
}

void World::leave() const {
  if (transport_) transport_->leave();
}

void World::barrier() const { gather(""); }

std::vector<std::string> World::gather(std::string_view own) const {
  if (size() == 1) return {std::string(own)};
  // Gather the texts up the tree. The list of a rank covers consecutive ranks starting with the
  // rank itself, so concatenation keeps the texts in rank order.
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
  agree(*this, {.fields = {{std::string(what), std::string(own)}}});
}

}  // namespace weft
