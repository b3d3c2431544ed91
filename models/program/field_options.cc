#include "weft/models/program/field_options.h"

#include <algorithm>
#include <map>

#include "weft/models/program/options.h"

namespace weft::program {
namespace {

/// What --help says about fields whose names do not say it all.
const std::map<std::string, std::string>& descriptions() {
  static const std::map<std::string, std::string> table = {
      {"layers", "blocks"},
      {"heads", "attention heads; must divide width"},
      {"width", "of embeddings and hidden states"},
      {"context", "tokens the model sees at once"},
      {"inner", "width of the feed-forward block; 0 means 4 * width"},
      {"activation", "gelu_tanh, gelu_erf, relu, silu, tanh, ..."},
      {"kv_heads", "heads of keys and values; 0 means heads"},
      {"head_dim", "features per head; 0 means width / heads"},
      {"gated", "gate in the feed-forward block (SwiGLU with silu)"},
      {"bias", "biases in linear layers and norms"},
      {"attention_bias", "biases in attention, without --bias"},
      {"mlp_bias", "biases in the feed-forward block, without --bias"},
      {"norm", "layer_norm or rms_norm"},
      {"residual", "pre_norm, post_norm or parallel"},
      {"positions", "learned, sinusoidal, rotary, linear_bias (ALiBi) or none"},
      {"rotary_base", "base of the frequencies of rotary positions"},
      {"rotary_share", "share of a head's features that turn"},
      {"rotary_scaling", "of rotary frequencies: none, linear, dynamic or llama3"},
      {"rotary_factor", "by which scaling divides frequencies, or stretches texts"},
      {"rotary_low_factor", "llama3: waves longer than rotary-context / this are stretched"},
      {"rotary_high_factor", "llama3: waves shorter than rotary-context / this are kept"},
      {"rotary_context", "dynamic, llama3: tokens that the model was trained on"},
      {"projection", "of queries, keys, values: fused, fused_by_head or separate"},
      {"transposed", "matrices of blocks are [in, out]"},
      {"window", "a token sees itself and window - 1 before it; 0 = all"},
      {"padding_id", "id whose embedding is not learnt; -1 = none"},
      {"tied_head", "the output projection is the token embedding"},
      {"scale_attention", "divide scores by sqrt(head size)"},
      {"scale_attention_by_inverse_layer", "divide scores of layer i by i + 1, too"},
      {"initializer_range", "standard deviation of matrices at the start"},
      {"whole_words", "hide all pieces of a word together"},
      {"generator_share", "rtd: width of the generator, as a share of the encoder's"},
      {"replaced_weight", "rtd: weight of finding replaced tokens beside the generator's loss"},
      {"passage", "most tokens of the text that something is hidden in"},
      {"mean_span", "span-corruption, denoising: mean length of hidden spans in tokens"},
      {"density", "span-corruption: share of the tokens that is hidden"},
      {"permute_sentences", "denoising: put the sentences into another order"},
      {"rotate", "denoising: begin the text at any of its tokens"},
      {"infill_rate", "denoising: share of the tokens that is hidden in spans"},
      {"mask_rate", "denoising: share of the tokens that is masked one by one"},
      {"delete_rate", "denoising: share of the tokens that is left out"},
      {"gap_ratio", "gap-sentences: share of the sentences that is hidden"},
      {"mask_ratio", "share of the patches that is hidden"},
      {"mask_unit", "patches are hidden together, in squares of so many by so many"},
      {"steps", "training steps in all"},
      {"batch", "windows per step"},
      {"lr", "learning rate after warm-up"},
      {"min_lr", "learning rate at the last step (cosine decay)"},
      {"warmup", "steps of linear warm-up"},
      {"weight_decay", "of parameters with two or more axes"},
      {"clip", "largest global gradient norm; 0 = any"},
      {"validation_fraction", "part of the text, at its end, that is not trained on"},
      {"seed", "of start values, windows and dropout: the same seed gives the same bits"},
      {"precision", "of matrix products: highest, high or medium"},
      {"eval_every", "steps between evaluations; 0 = only at the end"},
      {"eval_batches", "batches per evaluation; 0 = the whole validation part"},
      {"save_every", "steps between checkpoints; 0 = only at the end"},
      {"skip_nonfinite",
       "most steps in a row that may be skipped because loss or gradient norm is not finite; 0 = "
       "such a step ends the run"},
  };
  return table;
}

}  // namespace

std::string option_name(const std::string& field) {
  std::string name = "--" + field;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void add_field_options(CLI::App& app, const std::string& group, const std::string& defaults,
                       const std::set<std::string>& skip, FieldValues& given) {
  const FieldValues fields = FieldValues::parse(defaults);
  OptionList options(app);
  for (const auto& [key, value] : fields.items()) {
    const std::string field = key;
    if (skip.contains(field)) continue;
    const std::string name = option_name(field);
    const auto text = descriptions().find(field);
    const std::string about = text == descriptions().end() ? "" : text->second;
    CLI::Option* option = nullptr;
    if (value.is_boolean()) {
      option = options.switches(
          name, [&given, field](bool on) { given[field] = on; }, about);
    } else if (value.is_number_integer()) {
      // Fields of 64 bits with and without a sign look alike here; with_fields() knows their range.
      option = options.add(name, kIntegerType, OptionList::Times::once, about,
                           [&given, field, name](const std::string& v) {
                             if (v.find_first_not_of("0123456789") == std::string::npos) {
                               given[field] = parse_unsigned(name, v);
                             } else {
                               given[field] = parse_integer(name, v);
                             }
                           });
    } else if (value.is_number()) {
      option = options.add(
          name, kNumberType, OptionList::Times::once, about,
          [&given, field, name](const std::string& v) { given[field] = parse_real(name, v); });
    } else {
      option = options.add(name, kTextType, OptionList::Times::once, about,
                           [&given, field](const std::string& v) { given[field] = v; });
    }
    option->group(group);
  }
}

}  // namespace weft::program
