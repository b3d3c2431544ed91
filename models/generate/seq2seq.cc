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

namespace {

SearchResult run(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                 const Tensor& mask, const Tensor& start, const GenerationOptions& options,
                 const OnToken& on_token) {
  options.check();
  if (options.slide)
    throw ArgumentError(
        "slide is supported for decoders only: encoder-decoder outputs have no sliding window");
  if (ids.dtype() != DType::i64 || ids.rank() != 2 || ids.numel() == 0 ||
      mask.dtype() != DType::i64 || mask.sizes() != ids.sizes()) {
    throw ShapeError(
        fmt::format("ids and mask must be non-empty i64 [prompts, source] tensors, not {} and {}",
                    ids.type_str(), mask.type_str()));
  }
  if (start.dtype() != DType::i64 || start.rank() != 2 || start.numel() == 0 ||
      start.size(0) != ids.size(0)) {
    throw ShapeError(fmt::format("start must be a non-empty i64 [{}, length] tensor, not {}",
                                 ids.size(0), start.type_str()));
  }
  const std::int64_t each = rows_per_prompt(options), rows = ids.size(0) * each;
  TokenIds prompt_of_row;
  for (std::int64_t r = 0; r < rows; ++r) prompt_of_row.push_back(r / each);
  // Each search allocates caches of the capacity it needs, so caches from an earlier search are
  // freed.
  session.reset_caches();
  const DimValues sizes = {{"capacity", length_rules(options, start.size(1)).max}};
  session.run(programs.prompt,
              {{"prompt_ids", ids},
               {"prompt_mask", mask},
               {"prompt_of_row", Tensor::of<std::int64_t>({rows}, prompt_of_row)}},
              {.dims = sizes});
  const auto step = [&](const Tensor& tokens, std::int64_t position, const Tensor& parents) {
    // All rows of a prompt share its encoding, so only the decoder's self-attention caches are
    // reordered.
    if (position > 0 && reorders_rows(parents))
      session.run(programs.reorder, {{"cache_rows", parents}}, {.dims = sizes});
    return session.run(programs.step,
                       {{"tokens", tokens}, {"position", Tensor::of<std::int64_t>({}, {position})}},
                       {.dims = sizes})["logits"];
  };
  return search(step, start, options, on_token);
}

}  // namespace

SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, const Tensor& start, const GenerationOptions& options,
                      const OnToken& on_token) {
  SearchResult result = run(session, programs, ids, mask, start, options, on_token);
  pad_to_longest(result.sequences, options.pad_id);
  return result;
}

SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, std::int64_t start_id, const GenerationOptions& options,
                      const OnToken& on_token) {
  const Tensor start = Tensor::full(DType::i64, {ids.rank() > 0 ? ids.size(0) : 1, 1},
                                    static_cast<double>(start_id));
  return generate(session, programs, ids, mask, start, options, on_token);
}

SearchResult generate(Session& session, const Seq2SeqPrograms& programs,
                      const std::vector<TokenIds>& prompts, const TokenIds& start,
                      const GenerationOptions& options, const OnToken& on_token) {
  std::vector<TokenIds> ids = prompts, mask;
  for (const TokenIds& prompt : prompts) {
    if (prompt.empty()) throw ArgumentError("the prompt is empty: there is nothing to encode");
    mask.emplace_back(prompt.size(), 1);
  }
  if (prompts.empty()) throw ArgumentError("there is no prompt");
  if (start.empty()) throw ArgumentError("the decoder needs at least one id to start from");
  pad_to_longest(ids, options.pad_id);
  pad_to_longest(mask, 0);
  return run(session, programs, ids_tensor(ids), ids_tensor(mask),
             ids_tensor(std::vector<TokenIds>(prompts.size(), start)), options, on_token);
}

}  // namespace weft
