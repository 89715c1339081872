/** Buy from agents: check a seller before a payment, and the proof of its answer. */
export {};
