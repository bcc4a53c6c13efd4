import CGStreamer

/// One exchange of descriptions: applies the remote description, creates a local one, or both. Every step is a promise,
/// fulfilled on the connection's thread.
final class Negotiation: Sendable {
    private let peer: ObjectRef<GstElement>
    private let watch: PeerWatch
    /// Types of the descriptions that are applied and created; `nil` for none.
    private let taken: Int?
    private let made: Int?

    init(_ peer: ObjectRef<GstElement>, _ watch: PeerWatch, sets taken: Int?, makes made: Int?) {
        self.peer = peer
        self.watch = watch
        self.taken = taken
        self.made = made
    }

    /// Applies the remote description.
    func begin(with text: String) {
        guard let taken, let description = cgst_description_new(Int32(taken), text) else {
            return watch.send(.failed("the session description cannot be read"))
        }
        defer { cgst_description_free(description) }
        cgst_set_description(peer.pointer, 0, description, promise(onTaken))
    }

    fileprivate func wasTaken(_ promise: UnsafeMutablePointer<GstPromise>?) {
        if let failure = failure(of: promise) {
            return watch.send(.failed("the session description was not taken: \(failure)"))
        }
        if made != nil { create() }
    }

    /// Creates a local description.
    func create() {
        cgst_create_description(peer.pointer, made == Int(CGST_ANSWER) ? 1 : 0, promise(onMade))
    }

    fileprivate func wasMade(_ promise: UnsafeMutablePointer<GstPromise>?) {
        if let failure = failure(of: promise) { return watch.send(.failed("no description could be made: \(failure)")) }
        let field = made == Int(CGST_ANSWER) ? "answer" : "offer"
        guard let promise, let description = cgst_promise_description(promise, field),
            let text = consumingText(of: cgst_description_text(description))
        else { return watch.send(.failed("no description could be made")) }
        defer { cgst_description_free(description) }
        // Before candidates can arrive.
        watch.send(.described(text))
        cgst_set_description(peer.pointer, 1, description, self.promise(onSet))
    }

    fileprivate func wasSet(_ promise: UnsafeMutablePointer<GstPromise>?) {
        if let failure = failure(of: promise) {
            watch.send(.failed("the own session description was not taken: \(failure)"))
        }
    }

    private func failure(of promise: UnsafeMutablePointer<GstPromise>?) -> String? {
        promise.flatMap { consumingText(of: cgst_promise_failure($0)) }
    }

    private func promise(_ onChange: @escaping GstPromiseChangeFunc) -> UnsafeMutablePointer<GstPromise>? {
        gst_promise_new_with_change_func(onChange, CallbackBox.retain(self), releaseBox)
    }
}

private func onTaken(_ promise: UnsafeMutablePointer<GstPromise>?, _ data: gpointer?) {
    CallbackBox<Negotiation>.peek(data)?.wasTaken(promise)
}

private func onMade(_ promise: UnsafeMutablePointer<GstPromise>?, _ data: gpointer?) {
    CallbackBox<Negotiation>.peek(data)?.wasMade(promise)
}

private func onSet(_ promise: UnsafeMutablePointer<GstPromise>?, _ data: gpointer?) {
    CallbackBox<Negotiation>.peek(data)?.wasSet(promise)
}
