#include "weft/models/generate/seq2seq.h"

#include <fmt/format.h>

#include "weft/core/error.h"

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
                    .parents = graph.input("parents", ids, {"rows"}),
                    .capacity = graph.dim("capacity")});
  Seq2SeqPrograms programs{Program("prompt"), Program("step")};
  programs.prompt.update(decoding.prompt);
  programs.step.output("logits", decoding.logits).update(decoding.step);
  return programs;
}

SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, std::int64_t start_id, const SearchOptions& options) {
  options.check();
  if (ids.dtype() != DType::i64 || ids.rank() != 2 || ids.numel() == 0 ||
      mask.dtype() != DType::i64 || mask.sizes() != ids.sizes()) {
    throw ShapeError(
        fmt::format("ids and mask must be i64 [prompts, source] and not empty, not {} and {}",
                    ids.type_str(), mask.type_str()));
  }
  const std::int64_t prompts = ids.size(0), rows = prompts * options.beams;
  std::vector<std::int64_t> prompt_of_row;
  for (std::int64_t r = 0; r < rows; ++r) prompt_of_row.push_back(r / options.beams);
  // Caches are as large as this search allows; another size means other caches.
  session.reset_caches();
  const RunOptions sizes{.dims = {{"capacity", options.max_length}}};
  session.run(programs.prompt,
              {{"prompt_ids", ids},
               {"prompt_mask", mask},
               {"prompt_of_row", Tensor::of<std::int64_t>({rows}, prompt_of_row)}},
              sizes);
  const auto step = [&](const Tensor& tokens, std::int64_t position, const Tensor& parents) {
    return session.run(programs.step,
                       {{"tokens", tokens},
                        {"position", Tensor::of<std::int64_t>({}, {position})},
                        {"parents", parents}},
                       sizes)["logits"];
  };
  return search(step, Tensor::full(DType::i64, {prompts, 1}, static_cast<double>(start_id)),
                options);
}

}  // namespace weft
