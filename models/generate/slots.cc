#include "weft/models/generate/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "weft/core/error.h"
#include "weft/models/generate/cache_rows.h"
#include "weft/models/generate/generation.h"

namespace weft {
namespace {

constexpr std::int64_t kFree = -1;

Tensor per_row(const TokenIds& values) {
  return ids_tensor({values}).reshape({std::ssize(values)});
}

}  // namespace

void DecodeSlotsOptions::check(const GptConfig& config) const {
  const auto require = [](bool valid, const char* name, std::int64_t value,
                          std::string_view allowed) {
    if (!valid) throw ArgumentError(fmt::format("{} is {}: it must be {}", name, value, allowed));
  };
  require(slots >= 1 && slots <= GenerationOptions::kMaxRows, "slots", slots,
          fmt::format("from 1 to {}", GenerationOptions::kMaxRows));
  require(capacity >= 0, "capacity", capacity, "positive, or 0 for the context of the model");
  require(chunk >= 1, "chunk", chunk, "positive");
  require(rewind >= 0, "rewind", rewind, "0 or positive");
  if (config.positions == GptPositions::learned)
    require(capacity <= config.context, "capacity", capacity,
            fmt::format("at most {}, the number of positions of the model", config.context));
}

DecodeSlots::DecodeSlots(Session& session, const Program& program, const GptConfig& config,
                         const DecodeSlotsOptions& options)
    : session_(session),
      program_(program),
      copy_("copy_cache_rows"),
      options_(options),
      caches_(session.graph(), config),
      vocab_(config.vocab) {
  options.check(config);
  if (options_.capacity == 0) options_.capacity = config.context;
  caches_.resize(options_.capacity, std::min(options_.chunk, options_.capacity) +
                                        std::min(options_.rewind, options_.capacity));
  const Value tokens = session.graph().find_input("tokens");
  const std::vector<Value> inputs = program.inputs();
  for (const char* name : {"tokens", "slots", "slot_positions", "slot_counts"}) {
    const Value input = session.graph().find_input(name);
    if (!input.defined() || std::find(inputs.begin(), inputs.end(), input) == inputs.end()) {
      throw ArgumentError(fmt::format(
          "the program '{}' has no input '{}': use a program of Gpt::slots_program with "
          "the input 'tokens'",
          program.name(), name));
    }
  }
  id_type_ = tokens.dtype();
  lengths_.assign(static_cast<std::size_t>(options_.slots), kFree);
  written_.assign(lengths_.size(), 0);
  copy_ = make_copy_program(program);
  session.reset_caches();
}

std::size_t DecodeSlots::in_use(std::int64_t slot) const {
  if (slot < 0 || slot >= options_.slots) {
    throw ArgumentError(
        fmt::format("slot {} does not exist: the slots are 0 to {}", slot, options_.slots - 1));
  }
  const auto index = static_cast<std::size_t>(slot);
  if (lengths_[index] == kFree)
    throw ArgumentError(fmt::format("slot {} is not in use: use a slot that add() returned", slot));
  return index;
}

std::int64_t DecodeSlots::first_free() const {
  const auto free = std::find(lengths_.begin(), lengths_.end(), kFree);
  if (free != lengths_.end()) return free - lengths_.begin();
  throw ArgumentError(
      fmt::format("all {} slots are in use: drop one, or construct DecodeSlots with more slots",
                  options_.slots));
}

void DecodeSlots::check_room(std::int64_t slot, std::int64_t added) const {
  const std::int64_t length = this->length(slot);
  if (added <= options_.capacity - length) return;
  throw ArgumentError(fmt::format(
      "slot {} has {} tokens, and {} more exceed its capacity of {}: drop the slot, or construct "
      "DecodeSlots with a larger capacity",
      slot, length, added, options_.capacity));
}

std::int64_t DecodeSlots::add() {
  const std::int64_t slot = first_free();
  lengths_[static_cast<std::size_t>(slot)] = 0;
  ++used_;
  return slot;
}

void DecodeSlots::drop(std::int64_t slot) {
  lengths_[in_use(slot)] = kFree;
  --used_;
}

void DecodeSlots::check_kept(std::int64_t slot, std::int64_t length, const char* verb) const {
  const std::int64_t own = this->length(slot);
  if (length < 0 || length > own) {
    throw ArgumentError(
        fmt::format("slot {} has {} tokens: its first {} cannot be {}", slot, own, length, verb));
  }
  if (caches_.keeps(length, written_[in_use(slot)])) return;
  throw ArgumentError(
      fmt::format("slot {} has {} tokens: its first {} cannot be {}, because layers with a window "
                  "keep only the newest tokens; set DecodeSlotsOptions::rewind to at least {}",
                  slot, own, length, verb, own - length));
}

void DecodeSlots::truncate(std::int64_t slot, std::int64_t length) {
  check_kept(slot, length, "kept");
  lengths_[in_use(slot)] = length;
}

DimValues DecodeSlots::sizes() const {
  DimValues sizes = caches_.sizes();
  sizes.emplace_back("slots", options_.slots);
  return sizes;
}

void DecodeSlots::copy_row(std::int64_t from, std::int64_t to) {
  written_[static_cast<std::size_t>(to)] = written_[static_cast<std::size_t>(from)];
  session_.run(copy_, {{"copy_from", per_row({from})}, {"copy_to", per_row({to})}},
               {.dims = sizes()});
}

std::int64_t DecodeSlots::copy(std::int64_t slot, std::int64_t length) {
  check_kept(slot, length, "copied");
  const std::int64_t to = first_free();
  if (length > 0) copy_row(slot, to);
  lengths_[static_cast<std::size_t>(to)] = length;
  ++used_;
  return to;
}

void DecodeSlots::move(std::int64_t slot, std::int64_t to) {
  const std::int64_t length = this->length(slot);
  if (to < 0 || to >= options_.slots || lengths_[static_cast<std::size_t>(to)] != kFree) {
    throw ArgumentError(
        fmt::format("slot {} cannot be moved to {}, which is not a free slot: drop it first, or "
                    "move to another one of the slots 0 to {}",
                    slot, to, options_.slots - 1));
  }
  if (length > 0) copy_row(slot, to);
  lengths_[static_cast<std::size_t>(slot)] = kFree;
  lengths_[static_cast<std::size_t>(to)] = length;
}

Tensor DecodeSlots::run(const Tensor& tokens, const TokenIds& slots, const TokenIds& positions,
                        std::int64_t count, const TokenIds& text_lengths) {
  NamedTensors feeds = {{"tokens", tokens.to(id_type_)},
                        {"slots", per_row(slots)},
                        {"slot_positions", per_row(positions)},
                        {"slot_counts", per_row(TokenIds(slots.size(), count))}};
  // Transformed programs, such as those of quantize(), lack inputs that the model does not use.
  if (session_.graph().find_input("slot_lengths").defined())
    feeds.emplace_back("slot_lengths", per_row(text_lengths));
  // Before the run, because a run that fails may have written some entries.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::int64_t& written = written_[static_cast<std::size_t>(slots[i])];
    written = std::max(positions[i] == 0 ? 0 : written, positions[i] + tokens.size(1));
  }
  return session_.run(program_, feeds, {.dims = sizes()})["logits"];
}

Tensor DecodeSlots::prefill(std::int64_t slot, std::span<const std::int64_t> ids,
                            std::optional<std::int64_t> text_length) {
  const std::int64_t start = length(slot), added = std::ssize(ids);
  if (added == 0) throw ArgumentError(fmt::format("slot {}: there are no ids to process", slot));
  check_room(slot, added);
  // Checked before the first chunk, which may overwrite tokens of ring buffers.
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= vocab_)
      throw DataError(fmt::format("id {} is outside the vocabulary (size {})", id, vocab_));
  }
  Tensor logits;
  for (std::int64_t done = 0; done < added;) {
    const std::int64_t count = std::min(added - done, options_.chunk), position = start + done;
    // The number of columns is a power of two, so that a few plans serve prompts of all lengths.
    const auto columns =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
    TokenIds row(ids.begin() + done, ids.begin() + done + count);
    row.resize(
        static_cast<std::size_t>(std::min({columns, options_.chunk, options_.capacity - position})),
        row[0]);
    try {
      logits =
          run(ids_tensor({row}), {slot}, {position}, count, {text_length.value_or(start + added)});
    } catch (...) {
      if (!caches_.keeps(start, written_[static_cast<std::size_t>(slot)]))
        lengths_[static_cast<std::size_t>(slot)] = position;
      throw;
    }
    done += count;
  }
  // Set at the end, so that an error in a later chunk leaves the slot unchanged: the tokens
  // of the earlier chunks are beyond its length.
  lengths_[static_cast<std::size_t>(slot)] = start + added;
  return logits;
}

Tensor DecodeSlots::step(std::span<const SlotToken> tokens) {
  if (tokens.empty()) throw ArgumentError("there are no tokens: a step needs at least one slot");
  TokenIds slots, positions, lengths;
  std::vector<TokenIds> columns;
  for (const SlotToken& token : tokens) {
    if (std::find(slots.begin(), slots.end(), token.slot) != slots.end())
      throw ArgumentError(fmt::format("slot {} occurs twice in a step", token.slot));
    check_room(token.slot, 1);
    slots.push_back(token.slot);
    positions.push_back(length(token.slot));
    lengths.push_back(positions.back() + 1);
    columns.push_back({token.id});
  }
  const Tensor logits = run(ids_tensor(columns), slots, positions, 1, lengths);
  for (const std::int64_t slot : slots) ++lengths_[static_cast<std::size_t>(slot)];
  return logits;
}

}  // namespace weft
