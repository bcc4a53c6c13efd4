/// The kinds of outputs that plans and statuses can contain.
public enum OutputDocuments {
    /// All kinds. A new kind is one line here. Plans and statuses that were read list their outputs in this order.
    public static let all: [any OutputDocument.Type] = [
        PushDestination.self,
        PlannedHLS.self,
        PlannedRecording.self,
    ]
}
