// Words between ranks (core/world/word.h) over MPI. Internal, and of the thread that owns MPI.
#pragma once

// The C++ bindings that MPI has dropped.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <list>
#include <optional>

#include "weft/core/world/transport.h"
#include "weft/core/world/word.h"

namespace weft {

class MpiWords {
 public:
  /// Listens from here on. `self` is this rank's end, which is poisoned where MPI fails, or a rank
  /// says what this version does not know.
  MpiWords(MPI_Comm comm, Transport& self);

  /// What one of the others has said, one word a call.
  std::optional<Word> hear();
  void stop_listening();

  /// Begins to tell another rank.
  void say(const Word& word, int to);
  /// Whether all words of that kind have gone.
  bool said(Word::Kind kind);

 private:
  struct Saying {
    Word::Kind kind;
    WordBytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void listen();

  const MPI_Comm comm_;
  Transport& self_;
  WordBytes heard_;
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  std::list<Saying> saying_;  // MPI reads them where they are
};

}  // namespace weft
