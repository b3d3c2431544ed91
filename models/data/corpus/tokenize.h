// Converts a text corpus to token files.
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
  int threads = 0;  // 0: one per processor
};

/// The progress of tokenize().
struct TokenizeProgress {
  std::uint64_t bytes_read = 0;  // of the files, as in ByteStream
  TokenSetWriter::Totals totals = {};
};

/// Tokenizes the documents of `files` in their order and writes them. The ids do not depend on the
/// number of threads. Memory does not depend on the sizes of files and documents: long documents
/// are tokenized in pieces (see DocumentPiece), with a mark after each. Throws as the document
/// readers do, and as Tokenizer::encode() with file and line of the document.
///
/// `progress` is called from time to time. It may throw to cancel the work.
void tokenize(std::span<const CorpusFile> files, const Tokenizer& tokenizer,
              const TokenizeOptions& options, TokenSetWriter& writer,
              const std::function<void(const TokenizeProgress&)>& progress = {});

}  // namespace weft
