#include "weft/models/generate/batch_generator.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/generate/next_id.h"
#include "weft/models/generate/window_caches.h"
#include "weft/models/layers/attention/positions.h"

namespace weft {
namespace {

void check_supported(const GenerationOptions& options) {
  check_options(options);
  const auto reject = [](bool given, const char* what) {
    if (given) throw ArgumentError(fmt::format("a BatchGenerator does not support {}", what));
  };
  reject(options.beams > 1, "beams: use a Generator for beam search");
  reject(options.results > 1,
         "several results: add one request for each sample, with first_row 0, 1, 2, ...");
  reject(options.slide, "slide: use larger slots, or a Generator");
  reject(options.reuse_caches,
         "reuse_caches: DecodeSlotsOptions::reuse_prefixes shares common beginnings");
  reject(!options.start.empty(),
         "start, which is for encoder-decoders: a decoder begins with its "
         "prompt");
}

}  // namespace

LengthRules BatchGenerator::checked_lengths(const TokenIds& prompt,
                                            const GenerationOptions& options) const {
  check_supported(options);
  check_ids(options, config_.vocab);
  if (prompt.empty()) throw ArgumentError("the prompt is empty: at least one token is needed");
  for (const std::int64_t id : prompt) {
    if (id < 0 || id >= config_.vocab) {
      throw ArgumentError(fmt::format("id {} of the prompt is outside the vocabulary (size {})", id,
                                      config_.vocab));
    }
  }
  LengthRules lengths = checked_length_rules(options, std::ssize(prompt));
  if (options.encoder_no_repeat_ngram) lengths.source = prompt;
  if (lengths.max <= slots_.options().capacity) return lengths;
  throw ArgumentError(fmt::format(
      "a sequence of {} ids exceeds the capacity of a slot, {}: generate less, or increase "
      "DecodeSlotsOptions::capacity",
      lengths.max, slots_.options().capacity));
}

void BatchGenerator::check(const TokenIds& prompt, const GenerationOptions& options) const {
  checked_lengths(prompt, options);
}

std::int64_t BatchGenerator::add(TokenIds prompt, const GenerationOptions& options,
                                 std::int64_t top, std::int64_t adapter) {
  LengthRules lengths = checked_lengths(prompt, options);
  const std::int64_t start = lengths.start;
  Request request{std::move(prompt), options, std::move(lengths), top, adapter, start};
  if (options.constraint) request.constraint.emplace(options.constraint);
  requests_.emplace(added_, std::move(request));
  start_waiting();
  return added_++;
}

std::int64_t BatchGenerator::pending(const Request& request) const {
  return std::ssize(request.ids) - slots_.length(request.slot);
}

bool BatchGenerator::fits(std::int64_t tokens, std::int64_t longest) const {
  if (slots_.free_slots() == 0) return false;
  if (running() == 0) return true;
  // With dynamic scaling, a text that is preempted would be rotated for its new length, so it needs
  // room for all its ids. Other texts need room for some new ids: a text that is preempted at once
  // would be computed in vain.
  const DecodeSlotsOptions& options = slots_.options();
  const bool whole = config_.rotary_scaling == RotaryScalingKind::dynamic;
  std::int64_t free =
      slots_.free_blocks() -
      slots_.blocks_for(whole ? longest : std::min(tokens + options.block, options.capacity));
  for (const auto& [number, request] : requests_) {
    if (request.slot < 0) continue;
    free -= slots_.blocks_needed(
        request.slot, whole ? request.lengths.max - slots_.length(request.slot) : pending(request));
  }
  return free >= 0;
}

void BatchGenerator::start_waiting() {
  for (auto& [number, request] : requests_) {
    if (request.slot >= 0) continue;
    if (!fits(std::ssize(request.ids), request.lengths.max)) return;
    const AddedSlot added = slots_.add(request.ids, request.adapter);
    request.slot = added.slot;
    request.prompt = std::ssize(request.ids);
    if (request.cached < 0) request.cached = added.reused;
  }
}

void BatchGenerator::preempt_newest() {
  const auto newest = std::find_if(requests_.rbegin(), requests_.rend(),
                                   [](const auto& request) { return request.second.slot >= 0; });
  slots_.drop(newest->second.slot);
  newest->second.slot = -1;
  ++preempted_;
}

std::optional<RequestToken> BatchGenerator::next() {
  while (ready_.empty()) {
    if (requests_.empty()) return std::nullopt;
    advance();
  }
  const RequestToken token = std::move(ready_.front());
  ready_.pop_front();
  if (token.error) std::rethrow_exception(token.error);
  return token;
}

std::vector<RequestToken> BatchGenerator::step() {
  if (ready_.empty() && !requests_.empty()) advance();
  std::vector<RequestToken> tokens(std::make_move_iterator(ready_.begin()),
                                   std::make_move_iterator(ready_.end()));
  ready_.clear();
  return tokens;
}

void BatchGenerator::advance() {
  start_waiting();
  std::vector<SlotTokens> tokens;
  std::vector<Selected> selected;
  std::int64_t chunk = slots_.options().chunk, taken = 0;
  for (auto it = requests_.begin(); it != requests_.end(); ++it) {
    Request& request = it->second;
    if (request.slot < 0) continue;
    const std::int64_t length = slots_.length(request.slot);
    if (length >= request.prompt && changes_rotation(config_, length, length + 1)) {
      slots_.drop(request.slot);  // The text is processed again, like a new prompt.
      request.slot = slots_.add({}, request.adapter).slot;
      request.prompt = std::ssize(request.ids);
    }
    const std::int64_t left = pending(request), count = left == 1 ? 1 : std::min(left, chunk);
    if (count == 0) continue;
    while (request.slot >= 0 &&
           slots_.blocks_needed(request.slot, count) > slots_.free_blocks() - taken)
      preempt_newest();
    if (request.slot < 0) break;  // it was the newest itself
    taken += slots_.blocks_needed(request.slot, count);
    SlotTokens& added = tokens.emplace_back(SlotTokens{.slot = request.slot});
    added.ids.assign(request.ids.end() - left, request.ids.end() - left + count);
    added.wanted = count == left ? 1 : 0;
    added.text_length = left > 1 ? request.prompt : 0;
    if (count == left) selected.push_back({it, tokens.size() - 1, std::ssize(selected)});
    if (left > 1) chunk -= count;
  }
  if (speculation_) add_proposals(tokens, selected, taken);
  const Tensor logits = slots_.step(tokens);
  if (!selected.empty()) select(selected, logits);
}

void BatchGenerator::add_proposals(std::vector<SlotTokens>& tokens, std::vector<Selected>& selected,
                                   std::int64_t taken) {
  std::int64_t rows = 0;
  for (const SlotTokens& part : tokens) rows += std::ssize(part.ids);
  std::vector<SpeculatedText> texts;
  std::vector<Selected*> stepped;
  for (Selected& one : selected) {
    const Request& request = one.request->second;
    // The rotation of several tokens that depends on the length of the text would differ from that
    // of single ones.
    if (tokens[one.part].ids.size() > 1 ||
        (depends_on_length(config_.rotary_scaling) &&
         std::ssize(request.ids) + Speculation::kRows > config_.rotary_context))
      continue;
    texts.push_back({one.request->first, request.ids, request.options, request.lengths,
                     request.constraint ? &*request.constraint : nullptr});
    stepped.push_back(&one);
  }
  const std::vector<TokenIds> proposed = speculation_->propose(texts, rows);
  for (std::size_t i = 0; i < stepped.size(); ++i) {
    SlotTokens& part = tokens[stepped[i]->part];
    const std::int64_t more = slots_.blocks_needed(part.slot, 1 + std::ssize(proposed[i])) -
                              slots_.blocks_needed(part.slot, 1);
    if (taken + more > slots_.free_blocks()) continue;
    taken += more;
    part.ids.insert(part.ids.end(), proposed[i].begin(), proposed[i].end());
    part.wanted = std::ssize(part.ids);
    stepped[i]->proposed = proposed[i];
  }
  std::int64_t row = 0;
  for (Selected& one : selected) {
    one.row = row;
    row += tokens[one.part].wanted;
  }
}

std::vector<RequestToken> BatchGenerator::next_tokens(const Selected& selected,
                                                      const Tensor& logits,
                                                      std::vector<double>& scores) {
  Request& request = selected.request->second;
  ConstraintState* const constraint = request.constraint ? &*request.constraint : nullptr;
  const auto vocab = static_cast<std::size_t>(logits.size(1));
  std::vector<RequestToken> tokens;
  for (bool ends = false; !ends;) {
    const std::size_t number = tokens.size();
    const auto row = logits.span<float>().subspan(
        (static_cast<std::size_t>(selected.row) + number) * vocab, vocab);
    RequestToken& token = tokens.emplace_back();
    token.request = selected.request->first;
    token.cached = request.cached;
    try {
      NewToken next =
          next_id(request.options, request.lengths, request.ids, 0,
                  fmt::format("request {}", token.request), row, scores, request.top, constraint);
      token.id = next.token.id;
      token.log_probability = next.token.log_probability;
      token.top = std::move(next.top);
      request.ids.push_back(token.id);
      token.finish = finish_of(request.options, request.lengths, request.ids, constraint);
    } catch (const DataError&) {
      token.error = std::current_exception();
    }
    ends = token.finish || token.error || number == selected.proposed.size() ||
           token.id != selected.proposed[number];
  }
  return tokens;
}

void BatchGenerator::select(const std::vector<Selected>& selected, const Tensor& logits) {
  std::vector<std::vector<RequestToken>> tokens(selected.size());
  scores_.resize(static_cast<std::size_t>(workers_.slots()));
  workers_.for_chunks(
      std::ssize(selected),
      [&](std::int64_t chunk, int worker) {
        const auto i = static_cast<std::size_t>(chunk);
        tokens[i] = next_tokens(selected[i], logits, scores_[static_cast<std::size_t>(worker)]);
      },
      static_cast<double>(logits.numel()));
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const auto& [it, part, row, proposed] = selected[i];
    const RequestToken& last = tokens[i].back();
    const std::size_t count = tokens[i].size();
    if (!proposed.empty()) {
      const bool is_accepted =
          count <= proposed.size() && !last.error && last.id == proposed[count - 1];
      speculation_->record(it->first, std::ssize(proposed), std::ssize(tokens[i]) - !is_accepted);
    }
    if (last.finish || last.error) {
      end(it);
    } else if (!proposed.empty()) {
      slots_.truncate(it->second.slot, std::ssize(it->second.ids) - 1);
    }
    std::move(tokens[i].begin(), tokens[i].end(), std::back_inserter(ready_));
  }
}

void BatchGenerator::end(Requests::iterator request) {
  if (request->second.slot >= 0) slots_.drop(request->second.slot);
  if (speculation_) speculation_->drop(request->first);
  requests_.erase(request);
}

bool BatchGenerator::cancel(std::int64_t request) {
  if (request < 0 || request >= added_)
    throw ArgumentError(fmt::format("there is no request {}: {} were added", request, added_));
  const bool returns_more = std::erase_if(ready_, [&](const RequestToken& token) {
                              return token.request == request;
                            }) > 0;
  const auto it = requests_.find(request);
  if (it == requests_.end()) return returns_more;
  end(it);
  return true;
}

}  // namespace weft
