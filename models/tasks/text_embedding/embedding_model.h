// Text encoders that are trained on queries and passages: from scratch, or from the weights of any
// encoder or decoder.
//
//     const auto pairs = read_retrieval_pairs(std::vector<std::string>{"pairs.tsv"});
//     TextEncoder encoder = trainable(build_text_encoder(config, tokenizer, {}, {.steps = 500}));
//     Session session(*encoder.graph, encoder.store);
//     Trainer(session, embedding_task(session, encoder, pairs, nullptr),
//             {.settings = encoder.settings}).run();
//     save_folder("my-encoder", encoder);  // a Sentence Transformers folder
#pragma once

#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/training/trainable.h"

namespace WEFT_API weft {

/// Returns the contrastive loss of a batch, the mean over its n rows of info_nce(): each query is
/// compared with the positive and the negatives of every row, by the cosine or, unless `cosine` is
/// set, by the inner product. `queries` are f32 [n, d] and `passages` f32 [n, 1 + m, d], of which
/// the first of each row is its positive. Equal texts have equal ids, i64 `query_ids` [n] and
/// `passage_ids` [n, 1 + m]; a negative id marks a passage that is missing. A passage that equals
/// the positive of a query, or is the positive of an equal query, is not a negative of that query.
/// The options temperature, symmetric, dimensions and dimension_weights apply.
Value embedding_loss(Value queries, Value passages, Value query_ids, Value passage_ids,
                     const ContrastiveOptions& options, bool cosine = true);

/// Returns `options`, in which empty prompts are replaced by those of a model with `settings`: its
/// prompts for queries and passages or, if it lacks them, its default prompt.
ContrastiveOptions with_prompts(ContrastiveOptions options, const SentenceSettings& settings);

/// Adopts the training options and completes the model's Sentence Transformers files
/// (TrainedModel::origin), from which its modules and prompts are read: files that are missing are
/// added, given prompts and a given limit of tokens are written into them. `config`, `tokenizer`
/// and, if there are any, `reading`, `decoder` and `origin` must be set. Sets `contrastive` to the
/// options with the prompts that apply. Throws ArgumentError if an option does not apply to the
/// model, and the same exceptions as sentence_settings().
void set_contrastive_options(TextEncoder& model, ContrastiveOptions options);

/// Builds the programs of a model after set_contrastive_options(). It has no variables yet and is
/// not trainable. In addition to the programs of TextEncoder, there is the program "train" with the
/// output "loss" and the inputs
///   query_tokens, query_mask      i32 [batch, query_seq]
///   passage_tokens, passage_mask  i32 [batch, 1 + negatives, passage_seq]
///   query_pooled, passage_pooled  as the masks, if the tokens of prompts are not pooled
///   query_ids, passage_ids        i64 [batch], [batch, 1 + negatives]: see embedding_loss()
///   rows                          i64 [batch]: see gathered_rows(); only with several shards
/// With several shards, the loss compares each query with the passages of all shards. Throws
/// ArgumentError if the config does not match the tokenizer.
void build_embedding_programs(TextEncoder& model);

/// Builds a new encoder that is trained from scratch. Its vectors are normalised. Throws the same
/// exceptions as set_contrastive_options() and build_embedding_programs().
TextEncoder build_text_encoder(const EncoderConfig& config, const Tokenizer& tokenizer,
                               const ContrastiveOptions& options, const TrainSettings& settings);

/// Sets the limit of tokens and the case of texts that the settings of a Sentence Transformers
/// folder specify. `path` is the path of the folder for messages. Throws ArgumentError if the limit
/// leaves no room for text. The model must have a `reading`.
void limit_texts(const SentenceSettings& settings, TextEncoder& encoder, const std::string& path);

/// Makes `encoder` an encoder over a decoder: sets `decoder`, and `config` to the sizes that
/// concern the texts.
void set_decoder(TextEncoder& encoder, const GptConfig& decoder);

}  // namespace weft
