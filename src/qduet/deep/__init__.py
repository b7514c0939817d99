"""Values from networks: the network, replay memory, agents, training and evaluation."""
