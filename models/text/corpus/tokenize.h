// Converts a text corpus to token files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "weft/models/text/corpus/corpus_files.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokens/token_writer.h"

namespace WEFT_API weft {

struct TokenizeOptions {
  CorpusOptions corpus = {};
  int threads = 0;  // 0 = one per processor
  /// If true, the name of a special token in a text ("<|endoftext|>") is encoded as that token, for
  /// tokenizers that recognise it (see Tokenizer::encode). If false, it is plain text: a document
  /// cannot contain control tokens.
  bool special_in_text = false;
};

/// The progress of tokenize().
struct TokenizeProgress {
  std::uint64_t bytes_read = 0;  // see ByteStream::bytes_read()
  TokenSetWriter::Totals totals = {};
};

/// Tokenizes the documents in `files` in order and writes them. The ids do not depend on the number
/// of threads. Memory usage does not depend on the sizes of files and documents, because long
/// documents are tokenized in pieces (see DocumentPiece), with a mark (see token_file.h) after each
/// piece. Throws the same errors as the document readers. Errors from Tokenizer::encode() are
/// rethrown with file and line of the document.
///
/// `progress` is called periodically. It may throw an exception to cancel tokenization.
void tokenize(std::span<const CorpusFile> files, const Tokenizer& tokenizer,
              const TokenizeOptions& options, TokenSetWriter& writer,
              const std::function<void(const TokenizeProgress&)>& progress = {});

}  // namespace weft
