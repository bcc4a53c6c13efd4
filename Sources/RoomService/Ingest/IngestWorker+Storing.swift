import MixModel

/// How what happens to streams gets into their rooms.
extension IngestWorker {
    /// Stores the event of a publisher that begins.
    ///
    /// - Returns: The reason why it may not begin; `nil` if it may.
    func store(_ key: IngestStreamKey, _ session: String, _ now: Int64) async -> OrchestratorError? {
        let url = key.url(of: rules, secret: secret)
        // The beginning of a publisher is always passed on.
        guard let event = desk.begins(key, session: session, url: url, now: now) else { return nil }
        do throws(OrchestratorError) {
            try await courier.store(event, path: key.relayPath(secret: secret))
            desk.settle(key, session: session, url: url, as: .stored, now: now)
            writeJournal()
            return nil
        } catch {
            desk.settle(key, session: session, url: url, as: error.isFault ? .failed : .refused, now: now)
            return error
        }
    }

    func reconcile(_ key: IngestStreamKey, _ stream: IngestStream, _ now: Int64) async {
        guard !desk.isLive(key, session: stream.session, isConnected: stream.isConnected) else { return }
        if let fault = await store(key, stream.session, now) {
            logger.warning("a live stream is in no room: \(fault.title)", metadata: ["stream": "\(stream.stream)"])
        }
    }

    func end(_ key: IngestStreamKey, _ session: String, _ now: Int64) async {
        guard let event = desk.ends(key, session: session, now: now) else { return }
        do throws(OrchestratorError) {
            try await courier.store(event, path: key.relayPath(secret: secret))
            desk.settleEnd(key, session: session, as: .stored)
            circles.end(key)
            writeJournal()
        } catch {
            desk.settleEnd(key, session: session, as: error.isFault ? .failed : .refused)
            logger.warning("the end of a stream is not stored: \(error.title)", metadata: ["stream": "\(key.text)"])
        }
    }

    private func writeJournal() {
        do {
            try configuration.files.write(desk.journal, origins: circles.origins, at: rules.pullPlace)
        } catch {
            logger.warning("the list of live streams is not written: \(error)")
        }
    }
}
