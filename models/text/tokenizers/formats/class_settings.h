// Settings in tokenizer_config.json that change the tokenizer of a tokenizer.json.
#pragma once

#include "weft/models/text/tokenizers/formats/folder_settings.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"

namespace weft {

/// Applies the settings of a folder to a tokenizer that was read from its tokenizer.json, in the
/// same way as the tokenizer classes of Hugging Face's transformers library:
///
/// - do_lower_case, strip_accents and tokenize_chinese_chars change BERT's normaliser, in classes
///   that process text like BertTokenizer.
/// - add_prefix_space changes a byte-level pre-tokenizer. It must not contradict the prefix that a
///   Metaspace pre-tokenizer or a Prepend normaliser adds.
/// - add_bos_token and add_eos_token replace the post-processor. LlamaTokenizer, GemmaTokenizer and
///   CohereTokenizer add a beginning-of-text token by default if no post-processor adds tokens.
/// - added_tokens_decoder, additional_special_tokens, extra_special_tokens and the names of special
///   tokens add tokens that are recognised in texts.
/// - In NllbTokenizer, MBart50Tokenizer and MBartTokenizer, the post-processor adds </s> and the
///   code of the source language: src_lang, or English by default. In NllbTokenizer,
///   legacy_behaviour puts the code after </s>.
/// - split_special_tokens must be false.
///
/// A missing or null key keeps what tokenizer.json says. All other keys are accepted, because these
/// classes do not read them, or because they apply to batches (padding_side), to long texts
/// (model_max_length, truncation_side: see models/inputs) or to decoded text only
/// (clean_up_tokenization_spaces). Throws FormatError for
/// settings that are not supported.
SubwordParts with_class_settings(SubwordParts parts, const FolderSettings& folder);

}  // namespace weft
