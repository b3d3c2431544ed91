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
  const EncoderDecoderConfig& c = net.config();
  DecodingInputs inputs;
  if (c.reads_speech()) {
    inputs.ids = graph.input("features", DType::f32, {"prompts", c.mel_bins, c.frames()});
  } else {
    inputs.ids = graph.input("prompt_ids", ids, {"prompts", "source"});
    inputs.attention_mask = graph.input("prompt_mask", ids, {"prompts", "source"});
  }
  inputs.prompt_of_row = graph.input("prompt_of_row", ids, {"rows"});
  inputs.tokens = graph.input("tokens", ids, {"rows", "new"});
  inputs.position = graph.input("position", ids, {});
  inputs.capacity = graph.dim("capacity");
  const EncoderDecoderDecoding decoding = net.decoding(inputs);
  Seq2SeqPrograms programs{Program("prompt"), Program("step"), Program("reorder_caches")};
  programs.prompt.update(decoding.prompt);
  programs.step.output("logits", decoding.logits).update(decoding.step);
  programs.reorder = make_reorder_program(programs.step);
  return programs;
}

namespace {

/// Throws ArgumentError if an option is not supported for encoder-decoders.
void check_seq2seq(const GenerationOptions& options) {
  options.check();
  if (options.slide)
    throw ArgumentError(
        "slide is supported for decoders only: encoder-decoder outputs have no sliding window");
  if (options.reuse_caches)
    throw ArgumentError(
        "reuse_caches is supported for decoders only: every prompt is encoded separately");
  if (options.start.empty())
    throw ArgumentError("the decoder needs at least one id to start from: set `start`");
}

void require_prompts(std::int64_t prompts) {
  if (prompts == 0) throw ArgumentError("no prompts are encoded: call generate() first");
}

}  // namespace

Generation Seq2SeqGenerator::encode(NamedTensors source, const SearchStarts& starts,
                                    const GenerationOptions& options) {
  Generation generation(*this, starts, options);
  prompts_ = 0;  // until the prompts are encoded
  const std::int64_t prompts = std::ssize(starts.ids);
  rows_per_prompt_ = rows_per_prompt(options);
  capacity_ = length_rules(options, std::ssize(options.start)).max;
  const std::int64_t rows = prompts * rows_per_prompt_;
  TokenIds prompt_of_row;
  for (std::int64_t r = 0; r < rows; ++r) prompt_of_row.push_back(r / rows_per_prompt_);
  // Each generation allocates caches of the capacity it needs, so earlier caches are freed.
  session_.reset_caches();
  sizes_ = {{"capacity", capacity_}};
  source.emplace_back("prompt_of_row", Tensor::of<std::int64_t>({rows}, prompt_of_row));
  session_.run(programs_.prompt, source, {.dims = sizes_});
  prompts_ = prompts;
  return generation;
}

Generation Seq2SeqGenerator::generate(const Tensor& ids, const Tensor& mask,
                                      const GenerationOptions& options) {
  check_seq2seq(options);
  if (ids.dtype() != DType::i64 || ids.rank() != 2 || ids.numel() == 0 ||
      mask.dtype() != DType::i64 || mask.sizes() != ids.sizes()) {
    throw ShapeError(
        fmt::format("ids and mask must be non-empty i64 [prompts, source] tensors, not {} and {}",
                    ids.type_str(), mask.type_str()));
  }
  const std::int64_t prompts = ids.size(0), length = ids.size(1);
  SearchStarts starts{.ids =
                          std::vector<TokenIds>(static_cast<std::size_t>(prompts), options.start)};
  for (std::int64_t p = 0; p < prompts; ++p) {
    TokenIds& source = starts.sources.emplace_back();
    for (std::int64_t i = p * length; i < (p + 1) * length; ++i) {
      if (mask.data<std::int64_t>()[i] != 0) source.push_back(ids.data<std::int64_t>()[i]);
    }
  }
  return encode({{"prompt_ids", ids}, {"prompt_mask", mask}}, starts, options);
}

Generation Seq2SeqGenerator::generate(const Tensor& features, const GenerationOptions& options) {
  check_seq2seq(options);
  if (features.dtype() != DType::f32 || features.rank() != 3 || features.numel() == 0) {
    throw ShapeError(
        fmt::format("spectrograms must be a non-empty f32 [prompts, mel_bins, frames] tensor, not "
                    "{}",
                    features.type_str()));
  }
  const auto prompts = static_cast<std::size_t>(features.size(0));
  return encode({{"features", features}}, {.ids = std::vector<TokenIds>(prompts, options.start)},
                options);
}

Generation Seq2SeqGenerator::generate_again(const GenerationOptions& options) {
  check_seq2seq(options);
  require_prompts(prompts_);
  const std::int64_t length = length_rules(options, std::ssize(options.start)).max;
  if (rows_per_prompt(options) != rows_per_prompt_ || length > capacity_) {
    throw ArgumentError(fmt::format(
        "the prompts were encoded for {} rows per prompt and {} ids, but the options need {} and "
        "{}: encode them again",
        rows_per_prompt_, capacity_, rows_per_prompt(options), length));
  }
  return Generation(
      *this, {.ids = std::vector<TokenIds>(static_cast<std::size_t>(prompts_), options.start)},
      options);
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

Tensor Seq2SeqGenerator::logits_after(const TokenIds& ids) {
  require_prompts(prompts_);
  const auto rows = static_cast<std::size_t>(prompts_ * rows_per_prompt_);
  return step(ids_tensor(std::vector<TokenIds>(rows, ids)), 0, {});
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
