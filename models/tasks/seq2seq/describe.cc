#include "weft/models/tasks/seq2seq/describe.h"

#include <fmt/format.h>

#include "weft/models/fields/numbers.h"
#include "weft/models/hf/published.h"
#include "weft/models/tasks/common/task.h"

namespace weft {

std::string describe_seq2seq(const Seq2SeqModel& model) {
  const EncoderDecoderConfig& c = model.config;
  return fmt::format(
      "model     encoder-decoder: {} + {} layers, {} heads, width {}, {} {}: {} parameters\n",
      c.encoder_layers, c.decoder_layers, c.encoder_heads, c.width, grouped(c.vocab),
      model.tokenizer.unit(), grouped(hf::count_parameters(*model.graph)));
}

}  // namespace weft
