/// The end of a program.
extension Relay {
    /// Ends everything that the program uses. What takes time is added to `endings`.
    func endAll() {
        logger.info("the program ends")
        for (id, source) in sources {
            endProbe(of: source)
            disconnect(id)
        }
        for slot in [mixer, outgoingMixer, spareMixer, twin.slot].compactMap({ $0 }) {
            endings.append { await slot.process.end() }
        }
        if let end = examiner.end() { endings.append(end) }
        finishConnections()
        forgetAnchor()
        for output in outputs.values { endings.append { await output.close() } }
    }
}
