#include "weft/models/tasks/masked_tokens/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/text/unicode/blank_text.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

/// Number of tokens per batch. It is small because all tokens may be masked, and each masked token
/// needs one logit per vocabulary id.
constexpr std::int64_t kFillTokens = 1024;
constexpr std::string_view kDefaultMask = "[MASK]";

/// A text in which masks are written in the tokenizer's spelling, and the positions of the masks in
/// the original text.
struct MaskedText {
  std::string text;
  std::vector<MaskedPosition> places;
};

MaskedText with_tokenizer_masks(std::string_view text, std::string_view own) {
  MaskedText result;
  for (std::size_t at = 0;;) {
    const std::size_t usual = text.find(kDefaultMask, at), theirs = text.find(own, at);
    const std::size_t found = std::min(usual, theirs);
    result.text += text.substr(at, found == std::string_view::npos ? found : found - at);
    if (found == std::string_view::npos) return result;
    at = found + (found == theirs ? own : kDefaultMask).size();
    result.places.push_back({found, at, {}});
    result.text += own;
  }
}

struct MaskedRow {
  TextRow row;
  std::vector<std::int32_t> mask_positions;  // positions of the masks among the ids
};

MaskedRow masked_row(const TextReader& reader, const MaskedText& masked, const std::string& text,
                     std::size_t number, const OnCut& on_cut) {
  const std::int32_t mask = reader.tokenizer().mask_id();
  if (masked.places.empty()) {
    throw TextError(number, fmt::format("'{}' has no mask: replace the word to predict by {}",
                                        excerpt(text), reader.tokenizer().piece(mask)));
  }
  Encoding encoding = reader.encode(masked.text, number, on_cut);
  MaskedRow result;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    if (encoding.ids[i] == mask) result.mask_positions.push_back(static_cast<std::int32_t>(i));
  }
  if (result.mask_positions.size() != masked.places.size()) {
    throw TextError(number,
                    fmt::format("the text has {} masks, but only {} of them are in the {} {} "
                                "tokens, the maximum that the model accepts: shorten the text",
                                masked.places.size(), result.mask_positions.size(),
                                reader.truncation_side() == TextEnd::left ? "last" : "first",
                                reader.longest()));
  }
  result.row = {std::move(encoding.ids), std::move(encoding.type_ids)};
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t\n\r";
  const std::size_t begin = text.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kAround) - begin + 1);
}

std::vector<TokenCandidate> top_candidates(const Tokenizer& tokenizer,
                                           std::span<const float> logits, std::int64_t most) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  // The embedding table may have more rows than there are token ids.
  std::vector<std::int32_t> ids;
  const auto known = std::min(std::ssize(logits), tokenizer.vocab_size());
  for (std::int32_t id = 0; id < known; ++id) {
    if (!tokenizer.is_special(id)) ids.push_back(id);
  }
  const auto count =
      static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(most, 0, std::ssize(ids)));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](auto a, auto b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  std::vector<TokenCandidate> guesses;
  for (auto id = ids.begin(); id != ids.begin() + count; ++id) {
    const std::string text = tokenizer.decode(std::span<const std::int32_t>(&*id, 1));
    const std::string_view shown = trimmed(text);
    guesses.push_back(
        {*id, shown.empty() ? tokenizer.piece(*id) : std::string(shown),
         std::exp(static_cast<double>(logits[static_cast<std::size_t>(*id)]) - top) / sum});
  }
  return guesses;
}

/// Returns a program that computes the logits at the picked positions. Its output is the value that
/// the program "evaluate" passes to argmax.
Program logits_program(const PretrainingModel& model) {
  for (const auto& [name, value] : model.program("evaluate").outputs()) {
    if (name != "predicted") continue;
    Program program("fill");
    program.precision(model.settings.precision).output("logits", value.node().input(0));
    return program;
  }
  throw ArgumentError("the model's program 'evaluate' has no output 'predicted'");
}

}  // namespace

std::vector<std::vector<MaskedPosition>> fill(Session& session, const TrainedModel& any,
                                              const std::vector<std::string>& texts,
                                              const FillOptions& options) {
  const auto& model = any.as<PretrainingModel>(Use::fill);
  const Tokenizer& tokenizer = model.tokenizer;
  if (tokenizer.mask_id() < 0)
    throw FormatError("the model's tokenizer has no mask token ([MASK])");
  const TextReader reader = model.reader();
  const std::string own = tokenizer.piece(tokenizer.mask_id());
  std::vector<std::vector<MaskedPosition>> result;
  std::vector<MaskedRow> rows;
  std::vector<std::size_t> lengths;
  std::vector<std::size_t> numbers;  // of the texts that have rows
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (is_blank(texts[i])) {
      result.emplace_back();
      continue;
    }
    MaskedText masked = with_tokenizer_masks(texts[i], own);
    rows.push_back(masked_row(reader, masked, texts[i], i, options.on_cut));
    numbers.push_back(i);
    lengths.push_back(rows.back().row.ids.size());
    result.push_back(std::move(masked.places));
  }
  const Program program = logits_program(model);
  const std::vector<std::vector<std::size_t>> batches = batches_by_tokens(lengths, kFillTokens);
  const auto inputs_of = [&](std::int64_t b) {
    const std::vector<std::size_t>& batch = batches[static_cast<std::size_t>(b)];
    std::vector<const TextRow*> places;
    for (const std::size_t i : batch) places.push_back(&rows[i].row);
    NamedTensors inputs = reader.inputs(places);
    const Sizes sizes = inputs.front().second.sizes();
    std::vector<std::int32_t> picks;
    for (std::size_t r = 0; r < batch.size(); ++r) {
      for (const std::int32_t place : rows[batch[r]].mask_positions)
        picks.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(r) * sizes[1]) + place);
    }
    inputs.emplace_back("picks", Tensor::of({std::ssize(picks)}, picks));
    if (reads_pairs(model.options.objective))
      inputs.emplace_back("token_types", Tensor::zeros(DType::i32, sizes));
    return inputs;
  };
  const auto use = [&](std::int64_t b, const Results& results) {
    check_results(results);
    const Tensor& logits = results["logits"];
    const auto vocab = static_cast<std::size_t>(logits.size(1));
    std::size_t next = 0;
    for (const std::size_t i : batches[static_cast<std::size_t>(b)]) {
      for (MaskedPosition& place : result[numbers[i]]) {
        place.guesses = top_candidates(
            tokenizer, logits.span<float>().subspan(next++ * vocab, vocab), options.most);
      }
    }
  };
  run_distributed(session, program, std::ssize(batches), inputs_of, use);
  return result;
}

}  // namespace weft
