#include "weft/models/generate/score.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/generate/generation.h"

namespace weft {
namespace {

constexpr std::int64_t kIgnoreIndex = -100;

void check_prompts(const std::vector<TokenIds>& prompts,
                   const std::vector<TokenIds>& continuations) {
  if (prompts.size() != continuations.size() || prompts.empty()) {
    throw ArgumentError(
        fmt::format("each prompt needs exactly one continuation, but there are {} prompts and {} "
                    "continuations",
                    prompts.size(), continuations.size()));
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty() || continuations[i].empty())
      throw ArgumentError(fmt::format("{} {} is empty: there is nothing to {}",
                                      prompts[i].empty() ? "prompt" : "continuation", i,
                                      prompts[i].empty() ? "continue" : "score"));
  }
}

/// The decoder inputs and targets at each position.
struct Rows {
  std::vector<TokenIds> inputs, targets;
};

/// Returns rows that contain a prefix followed by its continuation. Only the continuations are
/// targets.
Rows make_rows(const std::vector<TokenIds>& prefixes, const std::vector<TokenIds>& continuations) {
  Rows rows;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    TokenIds text = prefixes[i];
    text.insert(text.end(), continuations[i].begin(), continuations[i].end());
    TokenIds targets(prefixes[i].size() - 1, kIgnoreIndex);
    targets.insert(targets.end(), continuations[i].begin(), continuations[i].end());
    text.pop_back();
    rows.inputs.push_back(std::move(text));
    rows.targets.push_back(std::move(targets));
  }
  // Padding is at the end, where no earlier token attends to it.
  pad_to_longest(rows.inputs, 0);
  pad_to_longest(rows.targets, kIgnoreIndex);
  return rows;
}

std::vector<ContinuationScore> read_scores(const Tensor& losses,
                                           const std::vector<TokenIds>& prefixes,
                                           const std::vector<TokenIds>& continuations) {
  std::vector<ContinuationScore> scores(prefixes.size());
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * losses.size(1) +
                               static_cast<std::int64_t>(prefixes[i].size()) - 1;
    for (std::size_t j = 0; j < continuations[i].size(); ++j)
      scores[i].log_probabilities.push_back(-losses.at(first + static_cast<std::int64_t>(j)));
  }
  return scores;
}

}  // namespace

double ContinuationScore::total() const {
  double sum = 0;
  for (const double x : log_probabilities) sum += x;
  return sum;
}

double ContinuationScore::perplexity() const {
  return std::exp(-total() / static_cast<double>(log_probabilities.size()));
}

Program make_score_program(const Gpt& gpt, Value tokens, Value targets, SourceLocation loc) {
  const Value logits = gpt.evaluation()({.ids = tokens}, loc).logits;
  return Program("score").output(
      "losses", cross_entropy(logits, targets, {.reduction = Reduction::none}), loc);
}

Program make_score_program(const EncoderDecoder& net, SourceLocation loc) {
  Graph& graph = net.graph();
  const auto input = [&](const char* name, const char* batch, const char* length) {
    const Value there = graph.find_input(name);
    return there.defined() ? there : graph.input(name, DType::i64, {batch, length}, loc);
  };
  const Value ids = input("prompt_ids", "prompts", "source"),
              mask = input("prompt_mask", "prompts", "source"),
              decoder_ids = input("decoder_ids", "prompts", "target"),
              targets = input("targets", "prompts", "target");
  const EncoderDecoder model = net.evaluation();
  const Value memory = model.encode(ids, mask, loc).last_hidden_state;
  const Value h = model.decode(decoder_ids, {}, memory, mask, loc).last_hidden_state;
  return Program("score").output(
      "losses", cross_entropy(net.logits(h, loc), targets, {.reduction = Reduction::none}), loc);
}

void check_scored_rows(const GptConfig& config, const std::vector<TokenIds>& prompts,
                       const std::vector<TokenIds>& continuations) {
  check_prompts(prompts, continuations);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    // The last id is predicted but is not an input, so it needs no position.
    const std::int64_t length = std::ssize(prompts[i]) + std::ssize(continuations[i]) - 1;
    if (config.positions != GptPositions::learned || length <= config.context) continue;
    throw ArgumentError(
        fmt::format("prompt and continuation require {} positions, but the model has {}", length,
                    config.context));
  }
}

std::vector<ContinuationScore> score(Session& session, const Program& program,
                                     const GptConfig& config, const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& continuations) {
  check_scored_rows(config, prompts, continuations);
  const Rows rows = make_rows(prompts, continuations);
  const Value tokens = session.graph().find_input("tokens");
  const Value targets = session.graph().find_input("targets");
  const Tensor losses =
      session.run(program, {{"tokens", ids_tensor(rows.inputs).to(tokens.dtype())},
                            {"targets", ids_tensor(rows.targets).to(targets.dtype())}})["losses"];
  return read_scores(losses, prompts, continuations);
}

std::vector<ContinuationScore> score(Session& session, const Program& program,
                                     const TokenIds& start, const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& continuations) {
  check_prompts(prompts, continuations);
  if (start.empty()) throw ArgumentError("the decoder needs at least one id to start from");
  std::vector<TokenIds> ids = prompts, mask;
  for (const TokenIds& prompt : prompts) mask.emplace_back(prompt.size(), 1);
  pad_to_longest(ids, 0);
  pad_to_longest(mask, 0);
  const std::vector<TokenIds> starts(prompts.size(), start);
  const Rows rows = make_rows(starts, continuations);
  const Tensor losses = session.run(program, {{"prompt_ids", ids_tensor(ids)},
                                              {"prompt_mask", ids_tensor(mask)},
                                              {"decoder_ids", ids_tensor(rows.inputs)},
                                              {"targets", ids_tensor(rows.targets)}})["losses"];
  return read_scores(losses, starts, continuations);
}

}  // namespace weft
