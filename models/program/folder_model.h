// Models of Hugging Face folders that predict ids, ready to run.
#pragma once

#include <memory>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/folder.h"

namespace weft::program {

/// True for a decoder, false for an encoder-decoder; UsageError for what is neither.
bool is_decoder(const hf::Folder& folder);

/// What a decoder's output begins with: `given`, "2 5", or else the folder's own first id.
/// ArgumentError where it has none.
TokenIds start_ids(const hf::Folder& folder, std::int64_t start_id, const std::string& given);

/// A decoder: what generates over caches, and what scores.
struct DecoderModel {
  DecoderModel(const hf::Folder& folder, int threads);

  std::unique_ptr<Graph> graph;
  Program decode{"decode"}, score{"score"};
  GptConfig config;
  std::unique_ptr<Session> session;
};

/// The same of an encoder-decoder.
struct EncoderDecoderModel {
  EncoderDecoderModel(const hf::Folder& folder, int threads);

  std::unique_ptr<Graph> graph;
  Seq2SeqPrograms programs;
  Program score{"score"};
  std::unique_ptr<Session> session;
};

}  // namespace weft::program
