#include "weft/models/generate/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/models/generate/cache_rows.h"
#include "weft/models/generate/generation.h"
#include "weft/models/layers/attention/positions.h"

namespace weft {
namespace {

/// New tokens of one text are padded to a multiple of this number.
constexpr std::int64_t kColumns = 16;

Tensor per_row(const TokenIds& values) {
  return ids_tensor({values}).reshape({std::ssize(values)});
}

std::int64_t rounded_up(std::int64_t n, std::int64_t factor) {
  return (n + factor - 1) / factor * factor;
}

/// Returns a number of rows, at least n, for which there are few plans.
std::int64_t padded_rows(std::int64_t n) {
  return n <= 8 ? n : rounded_up(n, n <= 32 ? 4 : kColumns);
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
  require(block >= 1, "block", block, "positive");
  if (config.positions == GptPositions::learned)
    require(capacity <= config.context, "capacity", capacity,
            fmt::format("at most {}, the number of positions of the model", config.context));
  const std::int64_t longest = capacity == 0 ? config.context : capacity;
  const std::int64_t least = (longest + block - 1) / block;
  require(blocks == 0 || blocks >= least, "blocks", blocks,
          fmt::format("at least {}, for a text of {} tokens in blocks of {}, or 0", least, longest,
                      block));
}

std::int64_t cache_bytes(const Program& slots_program, std::int64_t block, std::int64_t blocks) {
  std::int64_t bytes = 0;
  for (const auto& [cache, value] : slots_program.given_updates()) {
    const Shape& shape = cache.shape();  // [blocks, heads, block, size]
    bytes += blocks * shape[1].constant() * block * shape[3].constant() *
             static_cast<std::int64_t>(dtype_size(cache.info().type.dtype));
  }
  return bytes;
}

DecodeSlots::DecodeSlots(Session& session, const Program& program, const GptConfig& config,
                         const DecodeSlotsOptions& options)
    : session_(session),
      program_(program),
      copy_("copy_cache_rows"),
      config_(config),
      options_(options),
      pool_(0) {
  options.check(config);
  if (options_.capacity == 0) options_.capacity = config.context;
  if (options_.blocks == 0) options_.blocks = options_.slots * blocks_for(options_.capacity);
  // Padding may follow the last token of a text.
  columns_ = blocks_for(options_.capacity + kColumns - 1);
  const Value tokens = session.graph().find_input("tokens");
  const std::vector<Value> inputs = program.inputs();
  for (const char* name :
       {"tokens", "slot_blocks", "slot_positions", "slot_counts", "slot_wanted"}) {
    const Value input = session.graph().find_input(name);
    if (!input.defined() || std::find(inputs.begin(), inputs.end(), input) == inputs.end()) {
      throw ArgumentError(fmt::format(
          "the program '{}' has no input '{}': use a program of Gpt::slots_program with "
          "the input 'tokens'",
          program.name(), name));
    }
  }
  id_type_ = tokens.dtype();
  pool_ = BlockPool(options_.blocks);
  texts_.resize(static_cast<std::size_t>(options_.slots));
  copy_ = make_copy_program(program);
  session.reset_caches();
}

std::size_t DecodeSlots::index(std::int64_t slot) const {
  if (slot < 0 || slot >= options_.slots) {
    throw ArgumentError(
        fmt::format("slot {} does not exist: the slots are 0 to {}", slot, options_.slots - 1));
  }
  if (!texts_[static_cast<std::size_t>(slot)].used)
    throw ArgumentError(fmt::format("slot {} is not in use: use a slot that add() returned", slot));
  return static_cast<std::size_t>(slot);
}

std::int64_t DecodeSlots::first_free() const {
  const auto free =
      std::find_if(texts_.begin(), texts_.end(), [](const Text& text) { return !text.used; });
  if (free != texts_.end()) return free - texts_.begin();
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

void DecodeSlots::check_ids(std::span<const std::int64_t> ids) const {
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= config_.vocab)
      throw DataError(fmt::format("id {} is outside the vocabulary (size {})", id, config_.vocab));
  }
}

void DecodeSlots::check_blocks(std::int64_t needed) const {
  if (needed <= free_blocks()) return;
  throw CacheFullError(fmt::format(
      "the texts need {} more blocks of the caches, but only {} of {} are free: drop a text, or "
      "construct DecodeSlots with more blocks",
      needed, free_blocks(), options_.blocks));
}

void DecodeSlots::check_length(std::int64_t slot, std::int64_t length, const char* verb) const {
  const std::int64_t own = this->length(slot);
  if (length >= 0 && length <= own) return;
  throw ArgumentError(
      fmt::format("slot {} has {} tokens: its first {} cannot be {}", slot, own, length, verb));
}

std::int64_t DecodeSlots::blocks_needed(std::int64_t slot, std::int64_t added) const {
  const Text& own = text(slot);
  const std::int64_t length = std::ssize(own.ids);
  const bool copies =
      added > 0 && length % options_.block != 0 && pool_.is_shared(own.blocks.back());
  return blocks_for(length + added) - blocks_for(length) + (copies ? 1 : 0);
}

bool DecodeSlots::rotates_alike(std::int64_t length) const {
  return !depends_on_length(config_.rotary_scaling) || length <= config_.rotary_context;
}

TokenIds DecodeSlots::block_ids(std::span<const std::int64_t> ids, std::int64_t adapter,
                                std::int64_t i) const {
  const auto own = ids.subspan(static_cast<std::size_t>(i * options_.block),
                               static_cast<std::size_t>(options_.block));
  TokenIds key(own.begin(), own.end());
  if (i == 0) key.push_back(adapter);
  return key;
}

AddedSlot DecodeSlots::add(std::span<const std::int64_t> prompt, std::int64_t adapter) {
  const std::int64_t slot = first_free();
  Text& text = texts_[static_cast<std::size_t>(slot)];
  text = {.used = true, .ids = {}, .adapter = adapter, .blocks = {}, .places = {}};
  ++used_;
  const std::int64_t length = std::ssize(prompt);
  if (!options_.reuse_prefixes || !rotates_alike(length)) return {slot, 0};
  BlockPool::Place place = BlockPool::kBeginning;
  for (std::int64_t i = 0; (i + 1) * options_.block < length; ++i) {
    const auto found = pool_.find(place, block_ids(prompt, adapter, i));
    if (!found) break;
    pool_.share(found->block);
    text.blocks.push_back(found->block);
    text.places.push_back(place = found->place);
  }
  const std::int64_t reused = std::ssize(text.blocks) * options_.block;
  text.ids.assign(prompt.begin(), prompt.begin() + reused);
  return {slot, reused};
}

void DecodeSlots::release(Text& text, std::int64_t count) {
  // From the end, so that a block is evicted before the blocks that it continues.
  while (std::ssize(text.blocks) > count) {
    pool_.release(text.blocks.back());
    text.blocks.pop_back();
  }
}

void DecodeSlots::drop(std::int64_t slot) {
  Text& text = texts_[index(slot)];
  release(text, 0);
  text = {};
  --used_;
}

std::int64_t DecodeSlots::copy(std::int64_t slot, std::int64_t length) {
  check_length(slot, length, "copied");
  const std::int64_t to = first_free();
  Text& copied = texts_[static_cast<std::size_t>(to)];
  copied = text(slot);
  copied.ids.resize(static_cast<std::size_t>(length));
  copied.blocks.resize(static_cast<std::size_t>(blocks_for(length)));
  copied.places.resize(std::min(copied.places.size(), copied.ids.size() / options_.block));
  for (const std::int64_t block : copied.blocks) pool_.share(block);
  ++used_;
  return to;
}

void DecodeSlots::truncate(std::int64_t slot, std::int64_t length) {
  check_length(slot, length, "kept");
  Text& text = texts_[index(slot)];
  release(text, blocks_for(length));
  text.ids.resize(static_cast<std::size_t>(length));
  text.places.resize(std::min(text.places.size(), text.ids.size() / options_.block));
}

DimValues DecodeSlots::sizes() const {
  return {{"cache_blocks", options_.blocks}, {"cache_block", options_.block}};
}

void DecodeSlots::reserve(Text& text, std::int64_t added) {
  const std::int64_t length = std::ssize(text.ids);
  if (length % options_.block != 0) {
    std::int64_t& last = text.blocks.back();
    if (pool_.is_shared(last)) {
      const std::int64_t own = pool_.take();
      try {
        session_.run(copy_, {{"copy_from", per_row({last})}, {"copy_to", per_row({own})}},
                     {.dims = sizes()});
      } catch (...) {
        pool_.release(own);
        throw;
      }
      pool_.release(last);
      last = own;
    } else {
      pool_.forget(last);
    }
  }
  while (std::ssize(text.blocks) < blocks_for(length + added)) text.blocks.push_back(pool_.take());
}

void DecodeSlots::append(Text& text, const SlotTokens& added) {
  text.ids.insert(text.ids.end(), added.ids.begin(), added.ids.end());
  text.indexable &= rotates_alike(std::max(added.text_length, std::ssize(text.ids)));
  if (!options_.reuse_prefixes || !text.indexable) return;
  for (auto i = std::ssize(text.places); (i + 1) * options_.block <= std::ssize(text.ids); ++i) {
    const auto before = i == 0 ? BlockPool::kBeginning : text.places.back();
    std::int64_t& block = text.blocks[static_cast<std::size_t>(i)];
    const BlockPool::Entry entry =
        pool_.insert(before, block_ids(text.ids, text.adapter, i), block);
    if (entry.block != block) {  // another text has computed the same block
      pool_.share(entry.block);
      pool_.release(block);
      block = entry.block;
    }
    text.places.push_back(entry.place);
  }
}

Tensor DecodeSlots::run(std::span<const SlotTokens> tokens) {
  // Tokens of one text are a row, in which every key is read once for several of them. Otherwise,
  // every token is a separate row, so that texts with different numbers need no padding.
  const bool together = tokens.size() == 1;
  std::int64_t count = 0;
  for (const SlotTokens& added : tokens) count += std::ssize(added.ids);
  const std::int64_t padded =
      !together ? padded_rows(count)
      : count <= kColumns
          ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::size_t>(count)))
          : rounded_up(count, kColumns);
  const std::int64_t rows = together ? 1 : padded;
  TokenIds ids(static_cast<std::size_t>(padded)), wanted;
  TokenIds table(static_cast<std::size_t>(rows * columns_), -1);
  TokenIds positions(static_cast<std::size_t>(rows)), counts(positions.size());
  TokenIds lengths(positions.size(), 1), adapters(positions.size());
  std::size_t at = 0;  // the next token
  for (const SlotTokens& added : tokens) {
    const Text& text = texts_[index(added.slot)];
    const std::int64_t length = std::ssize(text.ids), number = std::ssize(added.ids);
    const std::int64_t whole = added.text_length > 0 ? added.text_length : length + number;
    for (std::int64_t i = 0; i < number; ++i, ++at) {
      ids[at] = added.ids[static_cast<std::size_t>(i)];
      if (i >= number - added.wanted) wanted.push_back(static_cast<std::int64_t>(at));
      if (together && i > 0) continue;
      std::copy(text.blocks.begin(), text.blocks.end(),
                table.begin() + static_cast<std::ptrdiff_t>(at) * columns_);
      positions[at] = length + i;
      counts[at] = together ? number : 1;
      lengths[at] = whole;
      adapters[at] = text.adapter;
    }
  }
  const std::int64_t results = std::ssize(wanted);
  wanted.resize(static_cast<std::size_t>(padded_rows(results)));
  NamedTensors feeds = {{"tokens", ids_tensor({ids}).reshape({rows, padded / rows}).to(id_type_)},
                        {"slot_blocks", ids_tensor({table}).reshape({rows, columns_})},
                        {"slot_positions", per_row(positions)},
                        {"slot_counts", per_row(counts)},
                        {"slot_wanted", per_row(wanted)}};
  // Transformed programs, such as those of quantize(), lack inputs that the model does not use.
  for (const auto& [name, values] :
       {std::pair("slot_lengths", &lengths), {"slot_adapters", &adapters}}) {
    if (session_.graph().find_input(name).defined()) feeds.emplace_back(name, per_row(*values));
  }
  const Tensor logits = session_.run(program_, feeds, {.dims = sizes()})["logits"];
  if (results == logits.size(0)) return logits;
  Tensor first = Tensor::empty(logits.dtype(), {results, logits.size(1)});
  std::memcpy(first.mutable_raw(), logits.raw(), first.bytes());
  return first;
}

Tensor DecodeSlots::step(std::span<const SlotTokens> tokens) {
  check_tokens(tokens);
  try {
    for (const SlotTokens& added : tokens)
      reserve(texts_[index(added.slot)], std::ssize(added.ids));
    const Tensor logits = run(tokens);
    for (const SlotTokens& added : tokens) append(texts_[index(added.slot)], added);
    return logits;
  } catch (...) {
    for (const SlotTokens& added : tokens) {
      Text& text = texts_[index(added.slot)];
      release(text, blocks_for(std::ssize(text.ids)));
    }
    throw;
  }
}

void DecodeSlots::check_tokens(std::span<const SlotTokens> tokens) const {
  if (tokens.empty()) throw ArgumentError("there are no tokens: a step needs at least one slot");
  std::vector<std::int64_t> slots;
  std::int64_t needed = 0;
  for (const SlotTokens& added : tokens) {
    const std::int64_t count = std::ssize(added.ids);
    if (std::find(slots.begin(), slots.end(), added.slot) != slots.end())
      throw ArgumentError(fmt::format("slot {} occurs twice in a step", added.slot));
    slots.push_back(added.slot);
    check_room(added.slot, count);
    if (count == 0)
      throw ArgumentError(fmt::format("slot {}: there are no ids to process", added.slot));
    if (added.wanted < 0 || added.wanted > count) {
      throw ArgumentError(
          fmt::format("slot {}: wanted is {}: it must be from 0 to {}, the number of "
                      "new ids",
                      added.slot, added.wanted, count));
    }
    check_ids(added.ids);
    needed += blocks_needed(added.slot, count);
  }
  check_blocks(needed);
}

Tensor DecodeSlots::prefill(std::int64_t slot, std::span<const std::int64_t> ids,
                            std::optional<std::int64_t> text_length) {
  const std::int64_t start = length(slot), added = std::ssize(ids);
  if (added == 0) throw ArgumentError(fmt::format("slot {}: there are no ids to process", slot));
  check_room(slot, added);
  check_ids(ids);
  check_blocks(blocks_needed(slot, added));
  Tensor logits;
  try {
    for (std::int64_t done = 0; done < added;) {
      const auto part =
          ids.subspan(static_cast<std::size_t>(done))
              .first(static_cast<std::size_t>(std::min(added - done, options_.chunk)));
      done += std::ssize(part);
      const SlotTokens tokens{slot, TokenIds(part.begin(), part.end()), done == added ? 1 : 0,
                              text_length.value_or(start + added)};
      logits = step(std::span(&tokens, 1));
    }
  } catch (...) {
    truncate(slot, start);
    throw;
  }
  return logits;
}

void DecodeSlots::run_largest(std::int64_t rows) {
  const auto run = [&](std::int64_t texts, std::int64_t first, std::int64_t wanted) {
    std::vector<SlotTokens> tokens;
    for (std::int64_t i = 0; i < texts; ++i) {
      const std::int64_t count = i == 0 ? first : 1;
      tokens.push_back({add(), TokenIds(static_cast<std::size_t>(count)), i == 0 ? wanted : 1});
      texts_[index(tokens.back().slot)].indexable = false;
    }
    step(tokens);
    for (const SlotTokens& text : tokens) drop(text.slot);
  };
  const std::int64_t chunk = std::min(options_.chunk, options_.capacity);
  const std::int64_t texts = std::min(options_.slots, 1 + free_blocks() - blocks_for(chunk));
  run(1, chunk, 1);
  run(texts, 1, 1);
  run(texts, chunk, 1);
  const std::int64_t all = std::min(rows, options_.capacity);
  run(1, all, all);
  if (texts > 1 && all > 1) run(2, all - 1, all - 1);
}

}  // namespace weft
