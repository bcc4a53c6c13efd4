extension ProgramDetour {
    /// The line that asks for the program, without its end.
    public var request: String {
        // Texts alone can always be written.
        (try? DocumentEncoder.json(ProgramRequest.view(task, room: room))) ?? ""
    }
}
