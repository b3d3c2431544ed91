// Control messages between ranks (core/world/control_message.h) over MPI. Internal; used only by
// the thread that owns MPI.
#pragma once

// Omit the C++ bindings, which MPI has removed.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <list>
#include <optional>

#include "weft/core/world/transport.h"
#include "weft/core/world/word.h"

namespace weft {

/// Sends and receives control messages.
class MpiWords {
 public:
  /// Starts to receive. `self` is this rank's endpoint, which is poisoned if MPI fails or if a rank
  /// sends an invalid control message.
  MpiWords(MPI_Comm comm, Transport& self);

  /// Returns the next received message, or nullopt if none has arrived. Does not block.
  std::optional<Word> hear();
  /// Cancels the pending receive.
  void stop_listening();

  /// Starts to send a message to another rank.
  void say(const Word& word, int to);
  /// Returns true if all messages of that kind have been sent. Failed sends count as sent.
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
  std::list<Saying> saying_;  // a list, because MPI requires the buffers to stay in place
};

}  // namespace weft
