// Control messages between ranks (core/world/control_message.h) over MPI. Internal; used only by
// the thread that owns MPI.
#pragma once

// Omit the C++ bindings, which MPI has removed.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <list>
#include <optional>

#include "weft/core/world/control_message.h"
#include "weft/core/world/transport.h"

namespace weft {

/// Sends and receives control messages over MPI.
class MpiControlMessages {
 public:
  /// Starts receiving. `self` is this rank's endpoint, which is poisoned if MPI fails or if a rank
  /// sends an invalid control message.
  MpiControlMessages(MPI_Comm comm, Transport& self);

  /// Returns the next received message, or nullopt if none has arrived. Does not block.
  std::optional<ControlMessage> poll();
  /// Cancels the pending receive.
  void cancel_receive();

  /// Starts sending a message to another rank; does not block.
  void send(const ControlMessage& message, int to);
  /// Returns true if all messages of this kind have been sent. Failed sends count as sent.
  bool all_sent(ControlMessage::Kind kind);

 private:
  struct PendingSend {
    ControlMessage::Kind kind;
    ControlMessageBytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void start_receive();

  const MPI_Comm comm_;
  Transport& self_;
  ControlMessageBytes receive_buffer_;
  MPI_Request receive_request_ = MPI_REQUEST_NULL;
  std::list<PendingSend>
      pending_sends_;  // a std::list, because MPI requires stable buffer addresses
};

}  // namespace weft
