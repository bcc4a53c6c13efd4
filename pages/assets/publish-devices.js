// Cameras, microphones and screens: which there are, and what is open.

/** Time between two looks at the microphone's level, in ms. */
const LOOK = 100;

/** Whether a device may be there a moment later: another program has it, or it is slow to start. @param {Error} error */
export const mayPass = error => ["AbortError", "NotReadableError"].includes(error.name);

export class Devices {
  /** What is sent. @type {MediaStream | null} */
  stream = null;
  #context = null;

  /** @param {{camera: HTMLSelectElement, microphone: HTMLSelectElement}} lists @param {(level: number) => void} onLevel 0…1 */
  constructor(lists, onLevel) { Object.assign(this, { lists, onLevel }); }

  /** Fills the lists, and keeps what is chosen. */
  async list() {
    const devices = await navigator.mediaDevices.enumerateDevices();
    const fill = (select, kind, word, extra) => {
      const chosen = select.value;
      const options = devices.filter(device => device.kind === kind)
        .map((device, index) => new Option(device.label || `${word} ${index + 1}`, device.deviceId));
      select.replaceChildren(...options, ...extra.map(([name, value]) => new Option(name, value)));
      if ([...select.options].some(option => option.value === chosen)) select.value = chosen;
    };
    fill(this.lists.camera, "videoinput", "Camera", navigator.mediaDevices.getDisplayMedia ? [["Screen", "screen"]] : []);
    fill(this.lists.microphone, "audioinput", "Microphone", [["None", "none"]]);
  }

  get isScreen() { return this.lists.camera.value === "screen"; }

  /**
   * Opens what is chosen in place of what is open.
   * @param {{width: number, height: number}} size @param {Record<string, boolean>} isOff What was switched off stays off.
   */
  async open({ width, height }, isOff) {
    const { camera, microphone } = this.lists, devices = navigator.mediaDevices, wanted = new MediaStream();
    const picture = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: 30 } };
    if (camera.value && !this.isScreen) picture.deviceId = { exact: camera.value };
    const sound = { echoCancellation: true, noiseSuppression: true };
    if (microphone.value) sound.deviceId = { exact: microphone.value };
    const take = found => found.getTracks().forEach(track => wanted.addTrack(track));
    const hasSound = microphone.value !== "none";
    if (this.isScreen) {
      take(await devices.getDisplayMedia({ video: picture }));
      if (hasSound) take(await devices.getUserMedia({ audio: sound }));
    } else take(await devices.getUserMedia({ video: picture, audio: hasSound ? sound : false }));
    for (const track of wanted.getTracks()) {
      track.enabled = !isOff[track.kind];
      if (track.kind === "video") track.contentHint = this.isScreen ? "detail" : "motion";
    }
    this.stream?.getTracks().forEach(track => track.stop());
    this.stream = wanted;
    this.#measure();
    await this.list();
  }

  #measure() {
    this.#context?.close();
    this.#context = null;
    if (!this.stream.getAudioTracks().length) return this.onLevel(0);
    const context = this.#context = new AudioContext(), analyser = context.createAnalyser();
    context.createMediaStreamSource(this.stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    const step = () => {
      if (this.#context !== context) return;
      analyser.getFloatTimeDomainData(samples);
      this.onLevel(Math.min(1, 2 * Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)));
      setTimeout(step, LOOK);
    };
    step();
  }
}
