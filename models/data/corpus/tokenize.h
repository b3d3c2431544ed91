// A collection of texts as token files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "weft/models/data/corpus/corpus_files.h"
#include "weft/models/data/tokens/token_writer.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

struct TokenizeOptions {
  CorpusOptions corpus = {};
  int threads = 0;  // 0 = as many as there are
};

/// How far it is.
struct TokenizeProgress {
  std::uint64_t bytes_read = 0;  // of the files, packed as they are
  TokenSetWriter::Totals totals = {};
};

/// Writes the documents of `files` in their order. The ids do not depend on the number of threads,
/// and memory not on the sizes of files and documents: long documents become ids in pieces
/// (DocumentPiece), each with a mark behind it. Throws as the readers of files do, and as
/// Tokenizer::encode with the file and the line of the document.
///
/// `progress` is told now and then; it may throw to end the work.
void tokenize(std::span<const CorpusFile> files, const Tokenizer& tokenizer,
              const TokenizeOptions& options, TokenSetWriter& writer,
              const std::function<void(const TokenizeProgress&)>& progress = {});

}  // namespace weft
