// Words between ranks (core/world/word.h) over MPI. Internal, and of the thread that owns MPI.
#pragma once

// The C++ bindings that MPI has dropped.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <functional>
#include <list>
#include <optional>
#include <string>

#include "weft/core/world/transport.h"
#include "weft/core/world/word.h"

namespace weft {

class MpiWords {
 public:
  /// Listens from here on. `fail` is told what ends the world: that MPI fails, or that a rank says
  /// what this version does not know. `self` is this rank's end, which describes ranks.
  MpiWords(MPI_Comm comm, const Transport& self, std::function<void(const std::string&)> fail);

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
  // False, and the world ends, where `code` says that MPI failed.
  bool good(int code, const char* what) const;

  const MPI_Comm comm_;
  const Transport& self_;
  const std::function<void(const std::string&)> fail_;
  WordBytes heard_;
  MPI_Request hearing_ = MPI_REQUEST_NULL;
  std::list<Saying> saying_;  // MPI reads them where they are
};

}  // namespace weft
