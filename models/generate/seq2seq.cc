#include "weft/models/generate/seq2seq.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/generate/cache_rows.h"
#include "weft/models/generate/logits_rules.h"

namespace weft {

Seq2SeqPrograms make_seq2seq_programs(const EncoderDecoder& net, SourceLocation loc) {
  Graph& graph = net.graph();
  Graph::Frame frame(graph, "seq2seq_programs", loc);
  const DType ids = DType::i64;
  const EncoderDecoderDecoding decoding =
      net.decoding({.ids = graph.input("prompt_ids", ids, {"prompts", "source"}),
                    .attention_mask = graph.input("prompt_mask", ids, {"prompts", "source"}),
                    .prompt_of_row = graph.input("prompt_of_row", ids, {"rows"}),
                    .tokens = graph.input("tokens", ids, {"rows", "new"}),
                    .position = graph.input("position", ids, {}),
                    .capacity = graph.dim("capacity")});
  Seq2SeqPrograms programs{Program("prompt"), Program("step"), Program("reorder_caches")};
  programs.prompt.update(decoding.prompt);
  programs.step.output("logits", decoding.logits).update(decoding.step);
  programs.reorder = make_reorder_program(programs.step);
  return programs;
}

Generation Seq2SeqGenerator::generate(const Tensor& ids, const Tensor& mask,
                                      const GenerationOptions& options) {
  options.check();
  if (options.slide)
    throw ArgumentError(
        "slide is supported for decoders only: encoder-decoder outputs have no sliding window");
  if (options.reuse_caches)
    throw ArgumentError(
        "reuse_caches is supported for decoders only: every prompt is encoded separately");
  if (options.start.empty())
    throw ArgumentError("the decoder needs at least one id to start from: set `start`");
  if (ids.dtype() != DType::i64 || ids.rank() != 2 || ids.numel() == 0 ||
      mask.dtype() != DType::i64 || mask.sizes() != ids.sizes()) {
    throw ShapeError(
        fmt::format("ids and mask must be non-empty i64 [prompts, source] tensors, not {} and {}",
                    ids.type_str(), mask.type_str()));
  }
  const auto prompts = static_cast<std::size_t>(ids.size(0));
  SearchStarts starts{.ids = std::vector<TokenIds>(prompts, options.start)};
  for (std::size_t p = 0; p < prompts; ++p) {
    TokenIds& source = starts.sources.emplace_back();
    for (std::int64_t i = static_cast<std::int64_t>(p) * ids.size(1);
         i < static_cast<std::int64_t>(p + 1) * ids.size(1); ++i) {
      if (mask.data<std::int64_t>()[i] != 0) source.push_back(ids.data<std::int64_t>()[i]);
    }
  }
  Generation generation(*this, starts, options);
  const std::int64_t each = rows_per_prompt(options), rows = ids.size(0) * each;
  TokenIds prompt_of_row;
  for (std::int64_t r = 0; r < rows; ++r) prompt_of_row.push_back(r / each);
  // Each generation allocates caches of the capacity it needs, so earlier caches are freed.
  session_.reset_caches();
  sizes_ = {{"capacity", length_rules(options, std::ssize(options.start)).max}};
  session_.run(programs_.prompt,
               {{"prompt_ids", ids},
                {"prompt_mask", mask},
                {"prompt_of_row", Tensor::of<std::int64_t>({rows}, prompt_of_row)}},
               {.dims = sizes_});
  return generation;
}

Generation Seq2SeqGenerator::generate(const std::vector<TokenIds>& prompts,
                                      const GenerationOptions& options) {
  std::vector<TokenIds> ids = prompts, mask;
  for (const TokenIds& prompt : prompts) {
    if (prompt.empty()) throw ArgumentError("the prompt is empty: there is nothing to encode");
    mask.emplace_back(prompt.size(), 1);
  }
  if (prompts.empty()) throw ArgumentError("there is no prompt");
  pad_to_longest(ids, options.pad_id);
  pad_to_longest(mask, 0);
  return generate(ids_tensor(ids), ids_tensor(mask), options);
}

Tensor Seq2SeqGenerator::step(const Tensor& tokens, std::int64_t position, const Tensor& parents) {
  // All rows of a prompt share its encoding, so only the decoder's self-attention caches are
  // reordered.
  if (position > 0 && reorders_rows(parents))
    session_.run(programs_.reorder, {{"cache_rows", parents}}, {.dims = sizes_});
  return session_.run(programs_.step,
                      {{"tokens", tokens}, {"position", Tensor::of<std::int64_t>({}, {position})}},
                      {.dims = sizes_})["logits"];
}

}  // namespace weft
