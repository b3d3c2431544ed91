#include "weft/models/program/limits/memory_guard.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>

#include "weft/models/generate/generator.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

/// Returns the number of weights in transformer layers: the query, key, value and output
/// projections of attention, and the feed-forward network.
double blocks(std::int64_t layers, std::int64_t width, std::int64_t inside, std::int64_t inner,
              bool gated) {
  const auto w = static_cast<double>(width);
  return static_cast<double>(layers) *
         (4 * w * static_cast<double>(inside) + (gated ? 3 : 2) * w * static_cast<double>(inner));
}

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

}  // namespace

double machine_memory() {
  struct sysinfo info = {};
  double bytes = 0x1p62;
  if (::sysinfo(&info) == 0)
    bytes =
        (static_cast<double>(info.totalram) + static_cast<double>(info.totalswap)) * info.mem_unit;
  for (const char* limit :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(limit);
    if (double most = 0; file >> most) bytes = std::min(bytes, most);  // "max" means no limit
  }
  struct rlimit space = {};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, static_cast<double>(space.rlim_cur));
  return bytes;
}

void check_memory(std::string_view what, double bytes, std::string_view remedy) {
  const double available = machine_memory();
  if (bytes <= available) return;
  throw UsageError(fmt::format("{} needs {}, but only {} is available: {}", what,
                               short_bytes(bytes), short_bytes(available), remedy));
}

double estimated_parameters(const GptConfig& c) { return static_cast<double>(c.parameter_count()); }

double estimated_parameters(const EncoderConfig& c) {
  const bool table = c.positions != EncoderPositions::rotary;
  return product(c.vocab + c.token_types, c.embeddings()) +
         (table ? product(c.context, c.width) : 0) +
         blocks(c.distinct_layers(), c.width, c.heads * c.head_width(), c.inner, c.gated);
}

double estimated_parameters(const EncoderDecoderConfig& c) {
  const Seq2SeqStack e = c.encoder(), d = c.decoder();
  const double tokens = product(c.vocab, e.width) + product(c.decoder_vocab, d.width);
  const double head = c.tied_head ? 0 : product(c.target_vocab(), d.width);
  const std::int64_t source = c.reads_speech() ? c.source_context : c.context + c.position_offset;
  return tokens + head + product(source, e.width) +
         product(c.context + c.position_offset, d.width) +
         blocks(e.layers, e.width, e.heads * e.head_size, e.inner, c.gated) +
         blocks(d.layers, d.width, 2 * d.heads * d.head_size, d.inner, c.gated);
}

double estimated_parameters(const VitConfig& c) {
  return product(c.channels * c.patch_height, c.patch_width) * static_cast<double>(c.width) +
         product(c.tokens(), c.width) + blocks(c.layers, c.width, c.width, c.inner, c.gated);
}

double estimated_parameters(const SwinConfig& c) {
  double count = product(c.channels * c.patch_height, c.patch_width) * static_cast<double>(c.width);
  if (c.positions) count += product(c.rows() * c.columns(), c.width);
  for (std::int64_t i = 0; i < c.stages(); ++i) {
    const VitConfig stage = c.stage(i);
    count += blocks(c.depth(i), stage.width, stage.width, stage.inner, false) +
             product(4 * stage.width, 2 * stage.width);
  }
  return count;
}

double estimated_parameters(const ImageTextConfig& c) {
  return (c.has_text() ? estimated_parameters(c.text) : 0) +
         (c.has_images() ? estimated_parameters(c.image) : 0) +
         product(c.text.width + c.image.pooled_width(), c.projection);
}

void check_trainable_size(double parameters) {
  constexpr double kBytesEach = 4 * 4;  // weight, gradient and two moments, 4 bytes each
  check_memory(fmt::format("training a model with {} parameters", short_number(parameters)),
               kBytesEach * parameters, "reduce --layers, --width, --vocab or --context");
}

double cache_bytes(const Graph& graph, const CacheSizes& sizes) {
  double bytes = 0;
  for (const Variable& variable : graph.variables()) {
    if (variable.info().kind != VariableKind::cache) continue;
    auto size = static_cast<double>(dtype_size(variable.info().type.dtype));
    for (const Dim& dim : variable.shape().dims()) {
      Bindings bindings;
      for (const SymbolPtr& symbol : dim.symbols()) {
        if (symbol->name == "capacity")
          bindings.bind(symbol, static_cast<std::int64_t>(sizes.capacity));
        if (symbol->name == "piece") bindings.bind(symbol, Generator::kPiece);
      }
      const bool grows = !bindings.entries().empty();
      size *= dim.is_constant()       ? static_cast<double>(dim.constant())
              : grows                 ? static_cast<double>(dim.evaluate(bindings))
              : dim.str() == "source" ? sizes.source
                                      : sizes.rows;
      if (grows && sizes.moved) size *= 2;
    }
    bytes += size;
  }
  return bytes;
}

}  // namespace weft::program
